package controllers

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The Secret in the operator's own namespace that holds its signing key. It is the only Secret that perfrun ever reads or writes:
// load testers get the public half, which is no secret.
const (
	signingKeySecret = "perfrun-signing-key"
	signingKeyEntry  = "ed25519-seed"
)

// SigningKey reads the operator's key, and makes it the first time. It outlives the process, so that a restarted operator
// is known to the load testers that are at work.
func SigningKey(ctx context.Context, c client.Client, namespace string) (ed25519.PrivateKey, error) {
	secret := &corev1.Secret{}
	name := client.ObjectKey{Namespace: namespace, Name: signingKeySecret}
	err := c.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) {
		seed := make([]byte, ed25519.SeedSize)
		if _, err := rand.Read(seed); err != nil {
			return nil, fmt.Errorf("drawing the signing key: %w", err)
		}
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: signingKeySecret},
			Data:       map[string][]byte{signingKeyEntry: seed},
		}
		err = c.Create(ctx, secret)
		if apierrors.IsAlreadyExists(err) {
			// Another manager was faster: its key is the key.
			err = c.Get(ctx, name, secret)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the signing key: %w", err)
	}
	seed := secret.Data[signingKeyEntry]
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("reading the signing key: Secret %s/%s has %d bytes in %s, want %d; delete it to have another made",
			namespace, signingKeySecret, len(seed), signingKeyEntry, ed25519.SeedSize)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

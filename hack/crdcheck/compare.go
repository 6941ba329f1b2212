package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type schema = apiextensions.JSONSchemaProps

// compare lists what of the former is missing or narrower in the latter. Rules in CEL are left out: whether a new one refuses a former
// object is nothing that a text tells. The samples and the table of accepted specs are applied to an API server instead.
func compare(former, latter *apiextensions.CustomResourceDefinition) []string {
	c := &comparison{}
	if former.Name != latter.Name || former.Spec.Names.Kind != latter.Spec.Names.Kind || former.Spec.Scope != latter.Spec.Scope {
		c.fault("", "its name, kind or scope is another")
	}
	for _, name := range former.Spec.Names.ShortNames {
		if !slices.Contains(latter.Spec.Names.ShortNames, name) {
			c.fault("", "the short name %s is gone", name)
		}
	}
	for i := range former.Spec.Versions {
		was := &former.Spec.Versions[i]
		j := slices.IndexFunc(latter.Spec.Versions, func(v apiextensions.CustomResourceDefinitionVersion) bool { return v.Name == was.Name })
		if j < 0 {
			c.fault(was.Name, "the version is gone: objects may be stored in it")
			continue
		}
		is := &latter.Spec.Versions[j]
		if was.Served && !is.Served {
			c.fault(was.Name, "the version is no longer served")
		}
		if was.Subresources != nil && was.Subresources.Status != nil && (is.Subresources == nil || is.Subresources.Status == nil) {
			c.fault(was.Name, "the subresource status is gone")
		}
		c.schema(was.Name, was.Schema.OpenAPIV3Schema, is.Schema.OpenAPIV3Schema)
	}
	return c.faults
}

type comparison struct{ faults []string }

func (c *comparison) fault(path, format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf("%s: %s", path, fmt.Sprintf(format, args...)))
}

func (c *comparison) schema(path string, was, is *schema) {
	c.value(path, was, is)
	c.enum(path, was, is)
	c.bounds(path, was, is)
	for _, name := range is.Required {
		if !slices.Contains(was.Required, name) {
			c.fault(path+"."+name, "it is required, and was not")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was.Properties)) {
		before := was.Properties[name]
		now, found := is.Properties[name]
		if !found {
			c.fault(path+"."+name, "the field is gone")
			continue
		}
		c.schema(path+"."+name, &before, &now)
	}
	c.elements(path, was, is)
}

// value compares what is said of a value apart from its range.
func (c *comparison) value(path string, was, is *schema) {
	if was.Type != is.Type || was.XIntOrString != is.XIntOrString {
		c.fault(path, "the type was %q and is %q", was.Type, is.Type)
	}
	if was.Format != is.Format && is.Format != "" {
		c.fault(path, "the format was %q and is %q", was.Format, is.Format)
	}
	if was.Pattern != is.Pattern && is.Pattern != "" {
		c.fault(path, "the pattern was %q and is %q", was.Pattern, is.Pattern)
	}
	if was.Nullable && !is.Nullable {
		c.fault(path, "null is refused")
	}
	if !bytes.Equal(raw(was.Default), raw(is.Default)) {
		c.fault(path, "the default was %q and is %q", raw(was.Default), raw(is.Default))
	}
	if list(was) != list(is) {
		c.fault(path, "the list's type or keys were %q and are %q", list(was), list(is))
	}
}

// elements compares those of lists and maps.
func (c *comparison) elements(path string, was, is *schema) {
	if was.Items != nil && was.Items.Schema != nil && is.Items != nil && is.Items.Schema != nil {
		c.schema(path+"[]", was.Items.Schema, is.Items.Schema)
	}
	if was.AdditionalProperties == nil || was.AdditionalProperties.Schema == nil {
		return
	}
	if is.AdditionalProperties == nil || is.AdditionalProperties.Schema == nil {
		c.fault(path, "other names are refused")
		return
	}
	c.schema(path+"{}", was.AdditionalProperties.Schema, is.AdditionalProperties.Schema)
}

func (c *comparison) enum(path string, was, is *schema) {
	if len(is.Enum) == 0 {
		return
	}
	if len(was.Enum) == 0 {
		c.fault(path, "any value was taken, and now only some are")
	}
	for _, value := range was.Enum {
		if !slices.ContainsFunc(is.Enum, func(v apiextensions.JSON) bool { return bytes.Equal(v.Raw, value.Raw) }) {
			c.fault(path, "the value %s is gone", value.Raw)
		}
	}
}

func (c *comparison) bounds(path string, was, is *schema) {
	atLeast(c, path, "minimum", was.Minimum, is.Minimum)
	atLeast(c, path, "minLength", was.MinLength, is.MinLength)
	atLeast(c, path, "minItems", was.MinItems, is.MinItems)
	atLeast(c, path, "minProperties", was.MinProperties, is.MinProperties)
	atMost(c, path, "maximum", was.Maximum, is.Maximum)
	atMost(c, path, "maxLength", was.MaxLength, is.MaxLength)
	atMost(c, path, "maxItems", was.MaxItems, is.MaxItems)
	atMost(c, path, "maxProperties", was.MaxProperties, is.MaxProperties)
}

func atLeast[T cmp.Ordered](c *comparison, path, name string, was, is *T) {
	if is != nil && (was == nil || *is > *was) {
		c.fault(path, "%s is higher than it was: %v", name, *is)
	}
}

func atMost[T cmp.Ordered](c *comparison, path, name string, was, is *T) {
	if is != nil && (was == nil || *is < *was) {
		c.fault(path, "%s is lower than it was: %v", name, *is)
	}
}

func raw(value *apiextensions.JSON) []byte {
	if value == nil {
		return nil
	}
	return value.Raw
}

func list(s *schema) string {
	if s.XListType == nil {
		return ""
	}
	return fmt.Sprint(*s.XListType, s.XListMapKeys)
}

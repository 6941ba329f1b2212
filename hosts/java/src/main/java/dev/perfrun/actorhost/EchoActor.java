package dev.perfrun.actorhost;

import io.dapr.actors.ActorId;
import io.dapr.actors.runtime.AbstractActor;
import io.dapr.actors.runtime.ActorRuntimeContext;

/** The actor that is measured. It does no work of its own, so that what a call costs is Dapr's and the SDK's. */
public class EchoActor extends AbstractActor implements Echo {
    public EchoActor(ActorRuntimeContext<EchoActor> context, ActorId id) {
        super(context, id);
    }

    @Override
    public byte[] echo(byte[] body) {
        return body;
    }

    @Override
    public void noOp() {
    }
}

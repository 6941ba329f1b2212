package dev.perfrun.actorhost;

import io.dapr.actors.ActorType;
import java.lang.reflect.Constructor;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.annotation.AnnotationDescription;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;

/** Gives {@link EchoActor} the actor type that the environment asks for. */
final class ActorTypes {
    private ActorTypes() {
    }

    /**
     * The SDK takes the type from an annotation, whose value is fixed when the program is compiled. So this makes a
     * subclass that differs in its annotation only; calls run the very code of {@link EchoActor}.
     */
    static Class<? extends EchoActor> named(String type) {
        return new ByteBuddy()
            .subclass(EchoActor.class)
            // The SDK looks for methods in the interfaces that the class itself names.
            .implement(Echo.class)
            .annotateType(AnnotationDescription.Builder.ofType(ActorType.class).define("name", type).build())
            .make()
            .load(EchoActor.class.getClassLoader(), ClassLoadingStrategy.Default.INJECTION)
            .getLoaded();
    }
}

package dev.perfrun.actorhost;

import io.dapr.actors.runtime.ActorRuntime;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ConfigurableApplicationContext;

/** Hosts one actor type for a Dapr sidecar. The SDK's own controller serves the sidecar's requests and /healthz. */
@SpringBootApplication
public class Application {
    public static void main(String[] args) {
        start(System.getenv());
    }

    /** Starts the host as the environment says; the variables are described in hosts/README.md. */
    static ConfigurableApplicationContext start(Map<String, String> environment) {
        ActorRuntime.getInstance().registerActor(ActorTypes.named(environment.getOrDefault("ACTOR_TYPE", "PerfActor")));
        return SpringApplication.run(Application.class,
            "--server.port=" + environment.getOrDefault("APP_PORT", "8080"));
    }
}

package dev.perfrun.actorhost;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;

/** Speaks to the whole host what a Dapr sidecar speaks. */
class ApplicationTest {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static ConfigurableApplicationContext host;
    private static String url;

    @BeforeAll
    static void start() {
        host = Application.start(Map.of("ACTOR_TYPE", "Measured", "APP_PORT", "0"));
        url = "http://127.0.0.1:" + host.getEnvironment().getProperty("local.server.port");
    }

    @AfterAll
    static void stop() {
        host.close();
    }

    @Test
    void registersTheTypeOfTheEnvironmentAndNoOther() throws Exception {
        HttpResponse<String> config = send("GET", "/dapr/config", "");
        assertEquals(200, config.statusCode());
        assertTrue(config.body().contains("\"entities\":[\"Measured\"]"), config.body());
    }

    @Test
    void answersWithTheBody() throws Exception {
        for (String body : new String[] {"{}", "\"text\"", "not json \u00e4", "x".repeat(1 << 20)}) {
            for (String type : new String[] {"application/json", "application/octet-stream", "application/x-www-form-urlencoded"}) {
                HttpResponse<String> answer = send("PUT", "/actors/Measured/a/method/echo", body, type);
                assertEquals(200, answer.statusCode());
                assertEquals(body, answer.body(), type);
            }
        }
    }

    @Test
    void hasTheMethodOfThePublishedTest() throws Exception {
        HttpResponse<String> answer = send("PUT", "/actors/Measured/b/method/noOp", "{}");
        assertEquals(200, answer.statusCode());
        assertEquals("", answer.body());
    }

    @Test
    void forgetsAnActor() throws Exception {
        assertEquals(200, send("PUT", "/actors/Measured/c/method/noOp", "").statusCode());
        assertEquals(200, send("DELETE", "/actors/Measured/c", "").statusCode());
        assertEquals(200, send("PUT", "/actors/Measured/c/method/noOp", "").statusCode());
    }

    @Test
    void refusesWhatItDoesNotHost() throws Exception {
        assertTrue(send("PUT", "/actors/Other/a/method/echo", "{}").statusCode() >= 400);
        assertTrue(send("PUT", "/actors/Measured/a/method/other", "{}").statusCode() >= 400);
    }

    @Test
    void isHealthy() throws Exception {
        assertEquals(200, send("GET", "/healthz", "").statusCode());
    }

    private static HttpResponse<String> send(String method, String path, String body) throws IOException, InterruptedException {
        return send(method, path, body, "application/json");
    }

    private static HttpResponse<String> send(String method, String path, String body, String type)
            throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + path))
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .header("Content-Type", type)
            .build();
        return CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
    }
}

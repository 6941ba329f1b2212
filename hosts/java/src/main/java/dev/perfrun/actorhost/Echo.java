package dev.perfrun.actorhost;

/** What can be called. */
public interface Echo {
    /** Answers with the body of the call. */
    byte[] echo(byte[] body);

    /** Answers with nothing, as the method of Dapr's published test does. */
    void noOp();
}

"""An actor host made with the Dapr Python SDK, to be put in the target's place of a PerfRun of the scenario Actors."""

import contextlib

from dapr.actor import Actor, ActorInterface, actormethod
from dapr.ext.fastapi import DaprActor
from fastapi import FastAPI


class EchoInterface(ActorInterface):
    @actormethod(name='echo')
    async def echo(self, body: object) -> object: ...


# The class's name is the actor type.
class PyActor(Actor, EchoInterface):
    async def echo(self, body: object) -> object:
        return body


@contextlib.asynccontextmanager
async def register(_: FastAPI):
    await actors.register_actor(PyActor)
    yield


app = FastAPI(lifespan=register)
actors = DaprActor(app)

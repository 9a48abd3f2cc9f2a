"""The preview of a rerun: which tasks would run again and why, and whose results would be reused."""

from __future__ import annotations

from litestar import Controller, post
from litestar.params import JSONBody

from turnout.model.rerun import RunsAgain
from turnout.server.api.found_runs import find
from turnout.server.api.parameters import RunId
from turnout.server.api.types.runs import RerunPreview, RerunRequest, TaskAgain, preview_of
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.responses import RUN_ID, answers

EXAMPLE = RerunPreview(
    run_id=RUN_ID,
    version="b1946ac92492d2347c6235b4d2611184",
    version_changed=False,
    input={"order": 7},
    again=[
        TaskAgain(task="charge", why=RunsAgain.NOT_FINISHED),
        TaskAgain(task="ship", why=RunsAgain.FOLLOWS, after="charge"),
    ],
    reused=["reserve"],
)


class RerunPreviewController(Controller):
    """Previews of reruns."""

    path = "/api/v1/runs/{run_id:str}/rerun/preview"
    tags = ("runs",)
    guards = (requires("viewer"),)

    @post(
        status_code=200,
        operation_id="preview_rerun",
        summary="Preview a rerun",
        responses=answers(
            RerunPreview,
            "run_not_found",
            "nothing_to_rerun",
            "unknown_task",
            "unknown_parameter",
            takes_body=True,
            example=EXAMPLE,
            description="What would run again, and what would be reused.",
        ),
    )
    async def preview(
        self, context: Context, run_id: RunId, data: JSONBody[RerunRequest | None] = None
    ) -> RerunPreview:
        """Takes the body of a rerun, and answers what that would do: each task that would run again with the reason,
        and the tasks whose results would be reused. Nothing is started."""
        wanted = data or RerunRequest()

        def read() -> RerunPreview:
            known = find(context, run_id).new.run_id
            return preview_of(context.core.submitter.preview_rerun(known, wanted.from_task, wanted.input))

        return await context.in_thread(read)

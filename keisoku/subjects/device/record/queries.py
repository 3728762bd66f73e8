"""Questions that are asked of frames again and again, by name: each is a table of SQL with parameters.

They scan the rows of frames once or twice and keep only groups, bursts or the longest in memory. What needs the rows
in the order of arrival is read beside SQL, which would have to sort all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keisoku.ground.entry import NamedQuery
from keisoku.ground.run.directory import RunDirectory

_OF_TRIAL = "(of_trial is null or trial = of_trial)"
_RATIOS = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
_PERCENTILES = ",\n    ".join(
    f"min(bucket) filter (before + frames >= {ratio} * every) as {name}_ns" for name, ratio in _RATIOS.items()
)
# A bucket is as wide as 1/1024 of its values, so that memory does not grow with the number of frames.
_OCTAVE = "greatest(0, cast(floor(log2(greatest(latency_ns, 1))) as integer) - 10)"
_FRAME = {
    "sequence": "sequence number of the frame",
    "transmit_ns": "when it was sent; empty if it was lost",
    "receive_ns": "when it arrived; a duplicate has a row of its own",
    "latency_ns": "the difference",
}


def _late_arrivals(directory: RunDirectory) -> Mapping[str, Any]:
    from keisoku.subjects.device.record.tables import late_arrivals_of  # with Arrow, which only queries need

    return {"late_arrivals": late_arrivals_of(directory)}


QUERIES = {
    "latency_over_time": NamedQuery(
        parameters="interval_ns := 1000000000, of_trial := null",
        sql=f"""
with buckets as (
    select trial, receive_ns // interval_ns as number, (latency_ns >> {_OCTAVE}) << {_OCTAVE} as bucket,
        count(*) as frames, min(latency_ns) as least, max(latency_ns) as most
    from frames where latency_ns is not null and not corrupt and {_OF_TRIAL} group by all
), running as (
    select *, coalesce(sum(frames) over (partition by trial, number order by bucket
            rows between unbounded preceding and 1 preceding), 0) as before,
        sum(frames) over (partition by trial, number) as every
    from buckets
)
select trial, number * interval_ns as start_ns, cast(sum(frames) as bigint) as frames, min(least) as min_ns,
    {_PERCENTILES}, max(most) as max_ns
from running group by trial, number order by trial, number""",
        columns={
            "trial": "number of the trial",
            "start_ns": "begin of the interval, by the time of arrival",
            "frames": "arrivals in it with a latency",
            "min_ns": "the shortest latency",
            **{
                f"{name}_ns": f"{ratio:.1%} of the frames are not slower; at most 1/1024 too low"
                for name, ratio in _RATIOS.items()
            },
            "max_ns": "the longest latency",
        },
    ),
    "loss_bursts": NamedQuery(
        parameters="of_trial := null",
        sql=f"""
with numbered as (
    select trial, stream, sequence, sequence - row_number() over (partition by trial, stream order by sequence) as burst
    from frames where lost and {_OF_TRIAL}
), bursts as (
    select trial, stream, min(sequence) as first, max(sequence) as last, count(*) as frames
    from numbered group by trial, stream, burst
)
select trial, stream, first, last, frames,
    first - lag(last) over (partition by trial, stream order by first) - 1 as gap_frames
from bursts order by trial, stream, first""",
        columns={
            "trial": "number of the trial",
            "stream": "number of the stream",
            "first": "sequence number of the first lost frame",
            "last": "that of the last one: all between them were lost",
            "frames": "length of the burst",
            "gap_frames": "frames between the burst before and this one; empty for the first",
        },
    ),
    "around_losses": NamedQuery(
        parameters="near := 3, of_trial := null",
        sql="""
with wanted as (
    select trial, stream, first, last, unnest(list_concat(
        list_transform(range(1, near + 1), lambda k: {'at': cast(first as bigint) - k, 'distance': -k}),
        list_transform(range(1, near + 1), lambda k: {'at': cast(last as bigint) + k, 'distance': k}))) as near_by
    from loss_bursts(of_trial := of_trial)
)
select w.trial, w.stream, w.first, w.last, w.near_by.distance as distance, f.sequence, f.transmit_ns, f.receive_ns,
    f.latency_ns, f.lost
from frames f join wanted w on f.trial = w.trial and f.stream = w.stream and cast(f.sequence as bigint) = w.near_by.at
where not f.corrupt
order by w.trial, w.stream, w.first, distance, f.receive_ns""",
        columns={
            "trial": "number of the trial",
            "stream": "number of the stream",
            "first": "sequence number of the first lost frame of the burst",
            "last": "that of its last one",
            "distance": "frames from the burst: negative before it, positive behind it",
            **_FRAME,
            "lost": "whether the neighbour was lost, too, in another burst",
        },
        needs=("loss_bursts",),
    ),
    "reorder_extents": NamedQuery(
        parameters="of_trial := null",
        sql=f"""
select trial, stream, port, sequence, transmit_ns, receive_ns, extent_frames, behind, late_ns from late_arrivals
where {_OF_TRIAL} order by trial, stream, port, receive_ns, sequence""",
        reads=_late_arrivals,
        columns={
            "trial": "number of the trial",
            "stream": "number of the stream",
            "port": "at which it arrived",
            "sequence": "sequence number of the frame that arrived too late",
            "transmit_ns": "when it was sent",
            "receive_ns": "when it arrived",
            "extent_frames": "arrivals since the first one that had overtaken it (RFC 4737 §4.2), without duplicates",
            "behind": "sequence number of that first arrival",
            "late_ns": "the time since then",
        },
    ),
    "worst_latencies": NamedQuery(
        parameters="most := 10, near := 2, of_trial := null",
        sql=f"""
with worst as (
    select trial, stream, sequence, receive_ns, latency_ns from frames
    where latency_ns is not null and not corrupt and {_OF_TRIAL}
    order by latency_ns desc, trial, stream, sequence, receive_ns limit most
), ranked as (
    select *, row_number() over (order by latency_ns desc, trial, stream, sequence, receive_ns) as rank from worst
), wanted as (
    select rank, trial, stream, unnest(list_transform(range(-near, near + 1),
        lambda k: {{'at': cast(sequence as bigint) + k, 'distance': k}})) as near_by
    from ranked
)
select w.rank, w.trial, w.stream, w.near_by.distance as distance, f.sequence, f.transmit_ns, f.receive_ns, f.latency_ns,
    f.lost
from frames f join wanted w on f.trial = w.trial and f.stream = w.stream and cast(f.sequence as bigint) = w.near_by.at
where not f.corrupt
order by rank, distance, f.receive_ns""",
        columns={
            "rank": "1 for the longest latency of all",
            "trial": "number of the trial",
            "stream": "number of the stream",
            "distance": "frames from the one of this rank; 0: itself",
            **_FRAME,
            "lost": "whether the neighbour was lost",
        },
    ),
    "changed_frames": NamedQuery(
        parameters="of_field := null, of_trial := null",
        sql=f"""
select trial, stream, f.sequence, f.transmit_ns, f.receive_ns, c.field, c.before, c.after
from frames f join changes c using (trial, stream, kind)
where not f.corrupt and (of_field is null or c.field = of_field) and {_OF_TRIAL}
order by trial, f.receive_ns, stream, f.sequence, c.field""",
        columns={
            "trial": "number of the trial",
            "stream": "number of the stream",
            "sequence": _FRAME["sequence"],
            "transmit_ns": "when it was sent",
            "receive_ns": _FRAME["receive_ns"],
            "field": "what was changed otherwise than expected: a row for each field",
            "before": "its value as it was expected",
            "after": "its value as it arrived",
        },
    ),
}
"""By name. A corrupt frame is in none of them, because its stream and its number may be wrong."""

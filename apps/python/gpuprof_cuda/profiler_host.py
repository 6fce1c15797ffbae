"""Metrics of chips: which exist, how many passes they need, what counter data contains.

Names, parameters, defaults and exceptions are those of cupti.profiler_host in cupti-python 13.4.0. Most
versions of CUPTI answer without a GPU, some only with a driver.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import dataclass

from . import _counters
from ._counters import (
    MetricCollectionScope,
    MetricType,
    NotSupportedError,
    ProfilerType,
    WrongState,
    WrongValue,
    cuptiError,
    metrics_to_c_array,
)

if typing.TYPE_CHECKING:
    from typing import Any

    from ._arrow import Array

__all__ = [
    "MetricCollectionScope",
    "MetricProperties",
    "MetricType",
    "NotSupportedError",
    "ProfilerHost",
    "ProfilerType",
    "cuptiError",
    "get_max_num_hardware_metrics_per_pass",
    "get_metrics_in_single_pass_set",
    "get_num_of_passes",
    "get_single_pass_sets",
    "get_supported_chips",
    "metrics_to_c_array",
]


@dataclass
class MetricProperties:
    """Properties of a metric, such as its unit in hardware ("dram") and its dimension ("bytes")."""

    description: str
    hw_unit: str
    dim_unit: str
    metric_type: MetricType
    metric_collection_scope: MetricCollectionScope


def _checked(kind: Any, value: Any, what: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise WrongValue(f"{value!r} is not a {what}") from None


def _checked_profiler(profiler_type: ProfilerType) -> str | None:
    checked = _checked(ProfilerType, profiler_type, "ProfilerType")
    if checked == ProfilerType.PROFILER_INVALID:
        raise WrongValue("PROFILER_INVALID is not a profiler")
    return "samples" if checked == ProfilerType.PM_SAMPLING else None


class ProfilerHost:
    """The metrics of a chip for one way of counting. Call initialize() before anything else."""

    def __init__(
        self,
        chip_name: str,
        profiler_type: ProfilerType,
        single_pass_metric_set_name: str | None = None,
    ) -> None:
        self._profiler = _checked_profiler(profiler_type)
        self._chip_name = chip_name
        self._set = single_pass_metric_set_name
        self._host: _counters.Host | None = None

    def __enter__(self) -> ProfilerHost:
        self.initialize()
        return self

    def __exit__(self, *error: object) -> None:
        self.deinitialize()

    def initialize(self) -> None:
        """Raises ValueError for a chip or set unknown to CUPTI, RuntimeError without CUPTI."""
        self._host = _counters.Host(chip=self._chip_name, profiler=self._profiler, set=self._set)

    def deinitialize(self) -> None:
        """A second call does nothing. Other hosts and collectors are not affected."""
        host, self._host = self._host, None
        if host:
            host.close()

    def _ready(self) -> _counters.Host:
        if self._host is None:
            raise WrongState("the host is not initialized", "initialize() comes first")
        return self._host

    def create_config_image(self, metrics: Sequence[str]) -> Array:
        """Returns uint8. ValueError names a metric that the chip does not have."""
        import numpy

        return numpy.frombuffer(bytearray(self._ready().config_image(metrics)), numpy.uint8)

    def evaluate_metric_values(
        self, counter_data_image: Array, metrics: Sequence[str], index: int
    ) -> Array:
        """float64, one value for each metric, for the sample or range at `index`."""
        return self.evaluate_samples(counter_data_image, metrics, [index])[0]

    def evaluate_samples(
        self, counter_data_image: Array, metrics: Sequence[str], indices: Sequence[int]
    ) -> Array:
        """float64 of shape (len(indices), len(metrics)), in one call. Not in cupti-python."""
        import numpy

        image = numpy.ascontiguousarray(counter_data_image).view(numpy.uint8)
        metrics = list(metrics)
        host = self._ready()
        for name in metrics:
            host.ask("properties", metric=name)  # raises the error for a wrong name
        places = numpy.ascontiguousarray(indices, numpy.int64)
        values = numpy.full((len(places), len(metrics)), numpy.nan)
        host.evaluate(image.ctypes.data, image.nbytes, places, metrics, values)
        return values

    def get_base_metrics(self, metric_type: MetricType) -> list[str]:
        """Names without a roll-up."""
        kind = _checked(MetricType, metric_type, "MetricType")
        found: list[str] = self._ready().ask("base_metrics", type=int(kind))
        return found

    def get_sub_metrics(self, metric_name: str, metric_type: MetricType) -> list[str]:
        """Suffixes of the name, as CUPTI writes them."""
        kind = _checked(MetricType, metric_type, "MetricType")
        found: list[str] = self._ready().ask("sub_metrics", metric=metric_name, type=int(kind))
        return found

    def get_metric_properties(self, metric_name: str) -> MetricProperties:
        found = self._ready().ask("properties", metric=metric_name)
        return MetricProperties(
            found["description"],
            found["hw_unit"],
            found["dim_unit"],
            MetricType(found["type"]),
            MetricCollectionScope(int(found["device_level"])),
        )

    def passes(self, metrics: Sequence[str]) -> int:
        """How many passes these metrics need together. Not in cupti-python."""
        return get_num_of_passes(self.create_config_image(metrics))


def get_supported_chips() -> list[str]:
    """Names such as GH100."""
    found: list[str] = _counters.Host().ask("chips")
    return found


def get_single_pass_sets(chip_name: str) -> list[str]:
    """Sets of metrics that fit into one pass, for PM sampling. From CUDA 13.2 on."""
    host = _counters.Host(chip=chip_name, profiler="samples")
    found: list[str] = host.ask("sets")
    return found


def get_metrics_in_single_pass_set(chip_name: str, set_name: str) -> list[str]:
    host = _counters.Host(chip=chip_name, profiler="samples")
    found: list[str] = host.ask("metrics_in_set", set=set_name)
    return found


def get_max_num_hardware_metrics_per_pass(chip_name: str, profiler_type: ProfilerType) -> int:
    """An upper bound: what fits depends on the units that count the metrics."""
    profiler = _checked_profiler(profiler_type)
    most: int = _counters.Host(chip=chip_name, profiler=profiler).ask("most_per_pass")
    return most


def get_num_of_passes(config_image: Array) -> int:
    """How often a kernel has to run to collect everything configured; for PM sampling it has to be 1."""
    import numpy

    image = numpy.ascontiguousarray(config_image).view(numpy.uint8)
    if image.nbytes == 0:
        raise WrongValue("the config image is empty")
    return _counters.Host().passes(image)

"""Networks as graphs for ONNX Runtime, put together node by node."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from crm.errors import UnavailableError

_CONSTANTS, _LARGE = "constants", 1024
"""The file of a graph's large constants, beside that of the graph, and their bytes at least."""
_OPSET, _OPSET_OF_KERNELS, _IR = 23, 1, 11
KERNELS = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""

Dimensions = list[str | int | None]


@dataclass
class Graph:
    """Nodes and constants in the order in which they are added.

    Attributes:
        constants: The file that large ones are written to, so that they are never all in memory.
    """

    constants: BinaryIO
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    stored: list[onnx.TensorProto] = field(default_factory=list)
    n_names: int = 0

    def constant(self, array: NDArray[Any]) -> str:
        """Return the name of a constant."""
        [name] = self.several(1)
        if array.nbytes < _LARGE:
            self.stored.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
            return name
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor = TensorProto(
            name=name, data_type=kind, dims=array.shape, data_location=TensorProto.DataLocation.EXTERNAL
        )
        where = {"location": _CONSTANTS, "offset": self.constants.tell(), "length": array.nbytes}
        for key, value in where.items():
            tensor.external_data.add(key=key, value=str(value))
        self.constants.write(np.ascontiguousarray(array).data)
        self.stored.append(tensor)
        return name

    def add(self, operator: str, *inputs: str, outputs: list[str] | None = None, **attributes: Any) -> str:
        """Add a node and return the name of its first output, a new one by default."""
        outputs = outputs or self.several(1)
        self.nodes.append(helper.make_node(operator, inputs, outputs, **attributes))
        return outputs[0]

    def unsqueezed(self, one: str) -> str:
        """Return it with a first dimension of one."""
        return self.add("Unsqueeze", one, self.constant(np.array([0])))

    def reshaped(self, one: str, *shape: int) -> str:
        """Return it in another shape, of which -1 is the rest and 0 what it was."""
        return self.add("Reshape", one, self.constant(np.array(shape)))

    def several(self, number: int) -> list[str]:
        """Return so many new names."""
        self.n_names += number
        return [f"_{self.n_names - place}" for place in range(number)]

    def model(
        self, inputs: Mapping[str, Dimensions], outputs: Sequence[str], *, of_bool: Sequence[str] = ()
    ) -> bytes:
        """Return all of it as it is stored; large constants that are in a file stay there.

        Args:
            inputs: Their dimensions, those that vary by a name.
            outputs: Their names.
            of_bool: Inputs that are no numbers in single precision.
        """
        of_inputs = [
            helper.make_tensor_value_info(
                name, TensorProto.BOOL if name in of_bool else TensorProto.FLOAT, dimensions
            )
            for name, dimensions in inputs.items()
        ]
        of_outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        made = helper.make_model(
            helper.make_graph(self.nodes, "network", of_inputs, of_outputs, self.stored),
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(KERNELS, _OPSET_OF_KERNELS)],
            ir_version=_IR,
        )
        stored: bytes = made.SerializeToString()
        return stored


def session_of(put_together: Callable[[Graph], bytes]) -> onnxruntime.InferenceSession:
    """Return a graph ready to run, each run in one thread; may be shared between threads.

    It goes through files: ONNX Runtime keeps in memory what it is given there, beside what it makes of it.

    Args:
        put_together: Adds all of it to an empty graph, and returns what is stored of it.

    Raises:
        UnavailableError: The folder of temporary files takes no more.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Both would keep memory for every length of text that was ever read.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    try:
        with tempfile.TemporaryDirectory(prefix="usl-graph-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "network.onnx"
            with (path.parent / _CONSTANTS).open("wb") as constants:
                stored = put_together(Graph(constants))
            path.write_bytes(stored)
            return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except OSError as error:
        raise UnavailableError(
            f"The language model that reads wishes cannot be made ready in {tempfile.gettempdir()} "
            f"({error.strerror}): free 100 MB there, or name another folder by the variable TMPDIR."
        ) from error

"""TensorFlow's frozen graphs, through tf2onnx."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aacl.converter import ModelFileMissing, ModelUnreadable, Unconvertible, convert
from aacl.models._package import ModelPackage

Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]


def test_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tf2onnx the conversion is refused with the extra to install, before the file is looked at."""
    monkeypatch.setitem(sys.modules, "tensorflow", None)  # as if it were not installed

    with pytest.raises(Unconvertible, match=r"--framework=3 \(TensorFlow\) needs the package tensorflow") as caught:
        convert(tmp_path / "net.pb", tmp_path / "o", framework=3)

    assert caught.value.report.code == "E10055"
    assert "aacl[tensorflow]" in caught.value.report.solution


class TestInstalled:
    """What needs TensorFlow itself; it is no dependency of the tests, being ten times their size."""

    GRAPH = """
import sys
import tensorflow as tf

graph = tf.Graph()
with graph.as_default():
    image = tf.compat.v1.placeholder(tf.float32, [None, 4, 4, 3], name="image")
    features = tf.nn.relu(image * 2.0 - 1.0, name="features")
    tf.reduce_mean(features, [1, 2], name="score")
open(sys.argv[1], "wb").write(graph.as_graph_def().SerializeToString())
"""

    @pytest.fixture
    def frozen(self, tmp_path: Path) -> Path:
        """Return the path of image [n, 4, 4, 3] -> features = relu(2 image - 1) -> score = mean over the picture."""
        pytest.importorskip("tf2onnx", reason="needs the extra aacl[tensorflow]")
        pytest.importorskip("tensorflow", reason="needs the extra aacl[tensorflow]")
        path = tmp_path / "net.pb"
        subprocess.run([sys.executable, "-c", self.GRAPH, str(path)], check=True, capture_output=True)
        return path

    @pytest.mark.filterwarnings("ignore")  # TensorFlow's and tf2onnx's own
    @pytest.mark.timeout(120)  # TensorFlow loads slowly
    def test_graph_is_converted(self, frozen: Path, read: Read, compute: Run) -> None:
        """Inputs keep their nodes' names and NHWC; what nothing reads is an output; gears work as for ONNX."""
        import numpy as np

        path = convert(
            frozen, frozen.with_name("o"), framework=3, input_shape="image:-1,4,4,3", dynamic_batch_size="1,2"
        )

        signature = read(path).signature
        image = np.random.default_rng(1).random((2, 4, 4, 3), np.float32)
        assert [(spec.name, spec.format.name) for spec in signature.inputs] == [("image", "NHWC")]
        assert [spec.shape for spec in signature.outputs] == [(2, 3)]
        np.testing.assert_allclose(compute(path, image)[0], np.maximum(2 * image - 1, 0).mean((1, 2)), rtol=1e-5)

    @pytest.mark.filterwarnings("ignore")  # as above
    @pytest.mark.timeout(120)  # as above
    def test_outputs_are_those_named(self, frozen: Path, read: Read, compute: Run) -> None:
        """--out_nodes names TensorFlow's nodes, and --output_type their types; a node that is not there is refused."""
        import numpy as np

        path = convert(
            frozen, frozen.with_name("o"), framework=3, input_shape="image:1,4,4,3", out_nodes="features:0",
            output_type="features:0:FP16",
        )  # fmt: skip

        image = np.random.default_rng(1).random((1, 4, 4, 3), np.float32)
        wanted = np.maximum(2 * image - 1, 0)
        assert [(spec.shape, spec.dtype.name) for spec in read(path).signature.outputs] == [((1, 4, 4, 3), "FLOAT16")]
        np.testing.assert_allclose(compute(path, image)[0], wanted, rtol=1e-3)
        with pytest.raises(Unconvertible, match="nobody"):
            convert(frozen, frozen.with_name("o"), framework=3, out_nodes="nobody:0")

    @pytest.mark.filterwarnings("ignore")  # as above
    @pytest.mark.timeout(120)  # as above
    def test_files_that_are_none(self, frozen: Path) -> None:
        """A file that is no graph, an empty one, and one that is not there have their errors."""
        target = frozen.with_name("o")
        for data in (b"hello world", b""):
            frozen.write_bytes(data)
            with pytest.raises(ModelUnreadable, match=r"net\.pb"):
                convert(frozen, target, framework=3)
        with pytest.raises(ModelFileMissing, match=r"none\.pb"):
            convert(frozen.with_name("none.pb"), target, framework=3)

"""Samples of operators that move, cut, share out or assign elements."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed, host

_BORDERS = host([[1, 1], [0, 2]])
_STRIDED = [host([2, 0]), host([0, 4]), host([-1, 2])]
_STRIDES = {"begin": [2, 0], "end": [0, 4], "strides": [-1, 2]}

SAMPLES = {
    "ReverseV2": Sample([data(3, 4), host([1], np.int32)]),
    "ReverseV2D": Sample([data(3, 4)], {"axis": [0]}),
    "ReverseExt2": Sample([data(3, 4)], {"axis": [0, 1]}),
    "ReverseSequence": Sample([data(3, 4), fixed([2, 0, 4], np.int32)], {"seq_dim": 1}),
    "Roll": Sample([data(3, 4)], {"shifts": [1]}),
    "RollV2": Sample([data(3, 4), host([1, -1]), host([0, 1])]),
    "InvertPermutation": Sample([fixed([2, 0, 1], np.int32)]),
    "RepeatInterleave": Sample([data(3, 2), host([2, 0, 1])], {"axis": 0}),
    "RepeatInterleaveGrad": Sample([data(3, 2), host([2, 0, 1])], {"axis": 0}),
    "UnravelIndex": Sample([fixed([5, 0], np.int32), host([2, 3], np.int32)]),
    "MirrorPadGrad": Sample([data(4, 5), _BORDERS], {"mode": "REFLECT"}),
    "PadV3Grad": Sample([data(4, 5), _BORDERS]),
    "PadV2D": Sample([data(2, 3), data(1)], {"paddings": [[1, 0], [0, 2]]}),
    "PadV3D": Sample([data(2, 3)], {"paddings": [[1, 0], [0, 2]], "constant_values": 1}),
    "StridedSliceV2": Sample([data(3, 4), host([2, 0]), host([-9, 9]), host([0, 1]), host([-1, 2])]),
    "StridedSliceV3": Sample([data(3, 4), host([1]), host([9]), host([-1])]),
    "SliceWithAxes": Sample([data(3, 4), host([1]), host([2])], {"axes": [1]}),
    "SliceDV2": Sample([data(3, 4), host([1, 0])], {"size": [2, 3]}),
    "SliceLastDim": Sample([data(3, 4)], {"start": 1, "end": 4, "stride": 2}),
    "SliceWrite": Sample([data(3, 4), host([1, 2]), data(2, 2)]),
    "StridedSliceAssign": Sample([data(3, 4), *_STRIDED, data(2, 2)]),
    "StridedSliceAssignD": Sample([data(3, 4), data(2, 2)], _STRIDES),
    "StridedSliceAssignV2": Sample([data(3, 4), data(3, 2), host([0]), host([4]), host([2]), host([1])]),
    "StridedSliceGrad": Sample([host([3, 4]), *_STRIDED, data(2, 2)]),
    "StridedSliceGradD": Sample([data(2, 2)], {"shape": [3, 4], **_STRIDES}),
    "DynamicPartition": Sample([data(4, 2), fixed([1, 0, 1, 2], np.int32)], {"num_partitions": 3}),
    "DynamicStitch": Sample([host([2, 0], np.int32), host(1, np.int32), data(2, 3), data(3)], {"N": 2}),
    "ParallelDynamicStitch": Sample([host([2, 0], np.int32), host(1, np.int32), data(2, 3), data(3)], {"N": 2}),
    "Assign": Sample([data(2, 3), data(2, 3, high=1)]),
    "AssignAdd": Sample([data(2, 3), data(2, 3, high=1)]),
    "AssignSub": Sample([data(2, 3), data(2, 3, high=1)]),
}

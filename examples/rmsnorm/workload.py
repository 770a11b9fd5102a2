"""How rms_norm is timed and checked: `aotriton tune measure --workload examples/rmsnorm/workload.py …`."""

import numpy as np

from aotriton.tune.gpu import GpuArray

EPSILON = 1e-6


class WORKLOAD:
    """As many columns as the functional is compiled for, and as many rows as the look-up key says."""

    def describe(self):
        return {}

    def timed(self, gpu, functional, keys):
        return self.arguments(gpu, functional, *self.inputs(functional, keys["Rows"], np.random.default_rng(20)))

    def poison(self, gpu, arguments):
        gpu.poison(arguments["Y"])

    def written(self, gpu, arguments):
        return not np.isnan(gpu.download(arguments["Y"]).astype(np.float32)).any()

    def errors(self, gpu, functional, launch):
        x, w = self.inputs(functional, 37, np.random.default_rng())
        arguments = self.arguments(gpu, functional, x, w)
        self.poison(gpu, arguments)
        launch(arguments)
        gpu.synchronise()
        exact = x.astype(np.float64)
        exact *= w / np.sqrt((exact**2).mean(-1, keepdims=True) + EPSILON)
        found = gpu.download(arguments["Y"]).astype(np.float64)
        # One rounding of the result, and a sum of as many squares as there are columns, in fp32.
        bound = np.abs(exact) * (np.finfo(x.dtype).eps + x.shape[1] * 2.0**-23) + 1e-7
        return {"Y": float(np.where(np.isnan(found), np.inf, np.abs(found - exact) / bound).max())}

    def inputs(self, functional, rows, chance):
        dtype = {"fp16": np.float16, "fp32": np.float32}[functional.choice("X").type]
        columns = int(functional["BLOCK_N"])
        return chance.standard_normal((rows, columns)).astype(dtype), chance.standard_normal(columns).astype(dtype)

    def arguments(self, gpu, functional, x, w):
        arrays = {name: self.array(gpu, value) for name, value in (("X", x), ("W", w), ("Y", x))}
        return {**arrays, "Rows": x.shape[0], "Columns": x.shape[1], "Epsilon": EPSILON}

    def array(self, gpu, values):
        memory = GpuArray(gpu.allocate(values.nbytes).address, values.shape, values.dtype)
        gpu.upload(memory, values)
        return memory

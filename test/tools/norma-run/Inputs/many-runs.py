"""Writes what norma-run --json would have written of runs whose page is hard to lay out: a long sweep, long names, several kernels with
long schedules, a single size, a run that was not timed, and times that differ by little."""

import json

SCHEDULE = (
    "#norm.schedule<spread = [[grid], [register(4), warp(4), lane(32), vector(8)]], keep = [l1], stages = 2, "
    "min_ctas_per_sm = 29>"
)


def kernel(symbol, shared_bytes):
    return {
        "symbol": symbol,
        "threads": 256,
        "registers": 48,
        "spill_bytes": 0,
        "static_shared_bytes": 1056,
        "shared_bytes": shared_bytes,
        "schedule": SCHEDULE,
    }


def run(function, m, share=0.97, kernels=1, timed=True, passed=True):
    bytes_moved = m * 4096 * 4 + 8192
    copy = 1.9 + bytes_moved / 4.3e6
    time = copy / share
    timing = {
        "microseconds": time,
        "bytes": bytes_moved,
        "gigabytes_per_second": bytes_moved / time / 1e3,
        "calls": 400,
        "copy_microseconds": copy,
    }
    return {
        "function": function,
        "target": "sm_90a",
        "device": "NVIDIA H100 80GB HBM3",
        "sizes": {"m": m, "n": 4096},
        "kernels": [kernel(f"{function}_{index}", ["0", "4 * n + 16"][index % 2]) for index in range(kernels)],
        "verification": {"passed": passed},
        "timing": timing if timed else None,
    }


runs = [run("rms_norm", 4**power, passed=power != 3) for power in range(10)]
runs += [run("gradient_of_layer_norm_by_all_its_inputs_" * 2, 2**power, 0.6, kernels=3) for power in range(4, 9)]
runs += [run("softmax", 4096), run("cross_entropy", 16, timed=False)]
runs += [run("close_together", m) for m in (4000, 4010, 4020)]
print(json.dumps(runs))

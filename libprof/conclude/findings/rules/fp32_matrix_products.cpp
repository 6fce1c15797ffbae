// Matrix products that do not use the tensor cores.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule fp32_matrix_products{
    .id = "fp32_matrix_products",
    .title = "Matrix products of FP32 do not use the tensor cores",
    .order = 145,
    .needs = {kernel_names, kernels, devices},
    .when =
        "Kernels of libraries on GPUs of compute capability 8.0 and later, whose name says that "
        "they multiply FP32 without tensor cores: simt_sgemm, _sgemm_, gemm_f32f32_f32f32, ffma; "
        "seven eighths of their time; 428 of 495 parts with compute capability 9.0, and half with "
        "8.6 "
        "to 8.9 and 12",
    .least_share = 0.05,
    .sql = R"(  WITH names AS (
    SELECT _id_ AS id
    FROM StringTable
    WHERE value GLOB '*simt_sgemm*' OR value GLOB '*_sgemm_*' OR value GLOB '*gemm_f32f32_f32f32*'
       OR value GLOB '*gemm*_ffma*' OR value GLOB '*_ffma*gemm*'),
  chips AS (
    SELECT id AS device, max(CASE WHEN computeCapabilityMajor = 9 THEN 428.0 / 495
                                  WHEN computeCapabilityMajor = 12 THEN 0.5
                                  WHEN computeCapabilityMajor = 8 AND computeCapabilityMinor > 0
                                  THEN 0.5 ELSE 0.875 END) AS share
    FROM CUPTI_ACTIVITY_KIND_DEVICE
    WHERE computeCapabilityMajor >= 8
    GROUP BY id)
  SELECT k.device, 'compute' AS part, sum(CAST(k.ns * c.share AS INTEGER)) AS ns,
         sum(k.count) AS count, min(k.first) AS first, max(k.last) AS last, k.name AS what
  FROM kernel_launches AS k
  JOIN names AS n ON n.id = k.name
  JOIN chips AS c ON c.device = k.device
  GROUP BY k.device, k.name)",
    .bound =
        "By the data sheets tensor cores multiply TF32 at eight times the rate of FP32 on an A100 "
        "(156 and 19.5 TFLOPS), 7.4 times on an H100 (495 and 67), and twice on an A10 or L40S.",
    .mends = simulate::kernels,
    .confidence = Confidence::low,
    .reason = "Whether fewer digits suffice is for the program's author to say.",
    .fix =
        "If ten bits of mantissa suffice: torch.set_float32_matmul_precision('high'), "
        "CUBLAS_TF32_TENSOR_OP_MATH, or BF16 (torch.autocast).",
    .link =
        "https://docs.pytorch.org/docs/stable/notes/"
        "cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices",
    .mistaken =
        "Numerics that need FP32. Kernels of other names are not found: this rule knows those of "
        "cuBLAS and CUTLASS.",
};

}  // namespace gpuprof::findings

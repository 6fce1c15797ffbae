// Sets of metrics, each of which answers a question about kernels (--set). gpuprof kernels computes
// its figures from them.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "schema/nvprof_metrics.hpp"

namespace gpuprof::schema {

// A metric of a set.
struct SetMetric {
  std::string_view name;
  std::string_view otherwise = {};  // for chips that lack the first
  std::string_view lacking = {};    // why some chips have neither
};

struct MetricSet {
  std::string_view name;
  std::string_view question;  // for the help
  std::span<const SetMetric> metrics = {};
  // Counters without roll-up: the sum is collected, and its share of the peak, which is no more
  // work.
  std::span<const SetMetric> counters = {};

  bool is_pc_sampling() const { return metrics.empty(); }
};

namespace sets {

#define GPUPROF_OF_PEAK ".avg.pct_of_peak_sustained_elapsed"
#define GPUPROF_OF_ACTIVE_PEAK ".avg.pct_of_peak_sustained_active"
#define GPUPROF_TENSOR "sm__ops_path_tensor_"

inline constexpr std::string_view duration = "gpu__time_duration.sum";
inline constexpr std::string_view dram_share = "dram__throughput" GPUPROF_OF_PEAK;
inline constexpr std::string_view sum = ".sum";
inline constexpr std::string_view of_peak = GPUPROF_OF_PEAK;

// Operations of the tensor cores by type. By CUPTI's descriptions no operation is counted under two
// of the names that are chosen for a chip. GH100 also has a count of all operations on FP16, which
// takes two passes.
inline constexpr SetMetric tensor[]{
    {GPUPROF_TENSOR "op_hgmma_src_fp16"},
    {GPUPROF_TENSOR "src_fp16_dst_fp16", GPUPROF_TENSOR "op_hmma_src_fp16_dst_fp16"},
    {GPUPROF_TENSOR "src_fp64"},
    {GPUPROF_TENSOR "src_fp8"},
    {GPUPROF_TENSOR "src_fp8_dst_fp16"},
    {GPUPROF_TENSOR "src_fp8_dst_fp32"},
    {GPUPROF_TENSOR "src_fp4_fp6_fp8_dst_fp16"},
    {GPUPROF_TENSOR "src_fp4_fp6_fp8_dst_fp32"},
    {GPUPROF_TENSOR "src_fp4_fp6_dst_fp16"},
    {GPUPROF_TENSOR "src_fp4_fp6_dst_fp32"},
    {GPUPROF_TENSOR "src_fp4_dst_fp32"},
    {GPUPROF_TENSOR "src_fp16_dst_fp32", GPUPROF_TENSOR "op_hmma_src_fp16_dst_fp32"},
    {GPUPROF_TENSOR "src_fp16_bf16_tf32_dst_fp32"},
    {GPUPROF_TENSOR "src_bf16_dst_fp32"},
    {GPUPROF_TENSOR "src_tf32_dst_fp32"},
};

inline constexpr SetMetric roofline[]{
    {duration},
    {"flop_count_sp"},
    {"flop_count_dp"},
    {"flop_count_hp"},
    {"flop_sp_efficiency"},
    {"flop_dp_efficiency"},
    {"flop_hp_efficiency"},
    {"dram_read_bytes", {}, shared_memory},
    {"dram_write_bytes", {}, shared_memory},
    {dram_share, {}, shared_memory},
};

inline constexpr SetMetric memory[]{
    {"dram_read_bytes", {}, shared_memory}, {"dram_write_bytes", {}, shared_memory},
    {dram_share, {}, shared_memory},        {"lts__t_sectors" GPUPROF_OF_PEAK},
    {"lts__t_sector_hit_rate.pct"},         {"l1tex__data_pipe_lsu_wavefronts" GPUPROF_OF_PEAK},
    {"l1tex__t_sector_hit_rate.pct"},
};

inline constexpr SetMetric compute[]{
    {"sm__pipe_tensor_cycles_active" GPUPROF_OF_ACTIVE_PEAK},
    {"sm__inst_executed_pipe_alu" GPUPROF_OF_ACTIVE_PEAK},
    {"sm__inst_executed_pipe_fma" GPUPROF_OF_ACTIVE_PEAK},
    {"sm__inst_executed_pipe_fp64" GPUPROF_OF_ACTIVE_PEAK},
    {"issue_slot_utilization"},
    {"sm__inst_executed_pipe_xu" GPUPROF_OF_ACTIVE_PEAK},
    {"sm__inst_executed_pipe_lsu" GPUPROF_OF_ACTIVE_PEAK},
};

inline constexpr SetMetric occupancy[]{
    {"achieved_occupancy"},
    {"sm_efficiency"},
    {"eligible_warps_per_cycle"},
    {"issue_slot_utilization"},
};

// What the rules of gpuprof findings decide by.
inline constexpr SetMetric findings[]{
    {"gld_efficiency"},         {"gst_efficiency"},
    {"shared_efficiency"},      {"warp_execution_efficiency"},
    {"sm_efficiency"},          {"achieved_occupancy"},
    {"issue_slot_utilization"}, {"sm__pipe_tensor_cycles_active" GPUPROF_OF_ACTIVE_PEAK},
};

}  // namespace sets

inline constexpr MetricSet metric_sets[]{
    {.name = "roofline",
     .question = "operations, bytes of memory, and how near both come to the peak",
     .metrics = sets::roofline,
     .counters = sets::tensor},
    {.name = "memory",
     .question = "how busy memory and caches are, and how often the caches have the data",
     .metrics = sets::memory},
    {.name = "compute", .question = "how busy the arithmetic units are", .metrics = sets::compute},
    {.name = "occupancy",
     .question = "how many warps there are, and how many of them can go on",
     .metrics = sets::occupancy},
    {.name = "findings",
     .question =
         "what gpuprof findings needs to judge kernels: lost bytes, threads, warps and cycles",
     .metrics = sets::findings},
    {.name = "stalls",
     .question = "what warps wait for and where: --pc-sampling, in a run of its own"},
};

inline const MetricSet* find_metric_set(std::string_view name) {
  const auto* const found = std::ranges::find(metric_sets, name, &MetricSet::name);
  return found == std::end(metric_sets) ? nullptr : found;
}

}  // namespace gpuprof::schema

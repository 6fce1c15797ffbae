// A copy of one of our profiles that nvprof 11.8 and the Visual Profiler read correctly.
//
// Our files have nvprof's tables with CUPTI's numbers in them. nvprof truncates numbers to 32 bits,
// assumes that all rows belong to one process, and prints another function's name for a cbid that
// CUDA 11.8 did not have. In the copy
// - cbids are those of CUDA 11.8: of the same function or another version of it, otherwise 0, which
//   prints as INVALID. The column cuptiCbid, after all others, has CUPTI's value;
// - correlation ids, contexts and the ids of NVTX markers are renumbered if processes of a run
//   share them, or if they need more than 31 bits;
// - each GPU has one row in DEVICE, and the same number in all processes; what CUPTI reported to
//   each process about links occurs once.
#pragma once

#include "libprof/store/sqlite.hpp"

namespace gpuprof::exporting {

// Runs in the open transaction of a copy without indexes and views: see ExcerptOptions::change.
// Memory grows with the number of correlation ids only if those are renumbered.
void make_readable_for_nvprof(store::Database& database);

// The CUDA 11.8 cbid for the function of that name; 0: there is none.
int nvprof_cbid(bool runtime, std::string_view name);

}  // namespace gpuprof::exporting

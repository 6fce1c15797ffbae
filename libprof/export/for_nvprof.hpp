// A copy of a profile of ours that nvprof 11.8 and the Visual Profiler read right.
//
// Our files have nvprof's tables, with CUPTI's numbers in them. nvprof cuts numbers to 32 bits,
// takes all rows for those of one process, and prints another function's name for a cbid that
// CUDA 11.8 did not have. In the copy
// - cbids are those of CUDA 11.8: of the same function, or of another version of it, else 0, which
//   prints as INVALID. The column cuptiCbid, behind all others, has what CUPTI said;
// - correlation ids, contexts and the ids of NVTX markers are numbered anew where the processes of
//   a run have the same, or where they need more than 31 bits;
// - each GPU has one row in DEVICE, and one number for all processes; what CUPTI told every process
//   of links is there once.
#pragma once

#include "libprof/store/sqlite.hpp"

namespace gpuprof::exporting {

// Works on the open transaction of a copy without indexes and views: ExcerptOptions::change.
// Memory grows with the number of correlation ids if those are numbered anew, else it does not.
void make_readable_for_nvprof(store::Database& database);

// The cbid of CUDA 11.8 that stands for the function of that name; 0: there is none.
int nvprof_cbid(bool runtime, std::string_view name);

}  // namespace gpuprof::exporting

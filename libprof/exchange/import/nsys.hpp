// An Nsight Systems export: the SQLite file that `nsys export --type sqlite` writes.
#pragma once

#include "libprof/exchange/import/import.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::importing {

NotImported import_nsys(store::Database& database, const Job& job);

}  // namespace gpuprof::importing

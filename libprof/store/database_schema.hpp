// Makes an empty database into a session's, and a session's into a finished file.
#pragma once

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

// All tables, views, docs, enum names. Inside the caller's transaction.
void create_schema(Database& database);

// nvprof's indexes, made in one go at the end: kept while writing they would cost more than the
// rows.
void create_indexes(Database& database);

}  // namespace gpuprof::store

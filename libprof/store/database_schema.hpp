// Turns an empty database into a session's, and a session's into a finished file.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"
#include "schema/column.hpp"
#include "schema/legacy.hpp"

namespace gpuprof::store {

// Creates all tables, views, docs and enum names. Call inside a transaction.
void create_schema(Database& database);

// Turns an empty database into a profile without records. `live`: uses a write-ahead log, so that
// others can read the file while it grows. Call outside a transaction.
void make_empty_profile(Database& database, bool live);

// Creates the missing indexes of tables that have rows. Call outside a transaction: each index gets
// its own.
void create_indexes(Database& database, std::span<const schema::Index> indexes);

// The SQL that creates a table, index or view of this name (case-insensitive), or nullopt if it is
// neither ours nor nvprof's. `ours`: for one of our files; otherwise for one of nvprof's, whose
// tables have no process column and which has tables where ours has empty views.
std::optional<std::string> own_sql(std::string_view type, std::string_view name, bool ours);
// Of a view that has more columns in a file with stacks, the SQL there.
std::optional<std::string> own_view_with_stacks(std::string_view name);

// Whether this is our own SQL of the view, as SQLite stores it.
bool is_own_view(std::string_view name, std::string_view stored_sql);
// The SQL as SQLite stores it: without what precedes CREATE, IF NOT EXISTS and the semicolon.
std::string as_stored(std::string sql);

// Our own SQL for creating the table, with only those columns for which `has` returns true, also
// under the names that older versions of gpuprof used. Nullopt if the table is neither ours nor
// nvprof's, or has none of these columns.
std::optional<std::string> own_table_sql(std::string_view name, bool ours,
                                         const std::function<bool(std::string_view column)>& has);

// Creates and fills this build's documentation tables: STATISTIC_DOC, ENUM_NAME, TABLE_DOC and
// those of the view COLUMN_DOC. They must not exist yet.
void create_words(Database& database);

// Whether the database has at most 4 MiB.
bool is_small(Database& database);

// Rebuilds small files with small pages: most of a small file is nearly empty pages, one for
// each table. Does nothing if another process has the file open. Call outside a transaction,
// without a write-ahead log.
void use_small_pages(Database& database);

// Adds a table that only some files have, with its docs, unless the file has it. Call inside a
// transaction.
void add_table(Database& database, const schema::Table& table);

// Adds the view collectives, with its docs, to a file that has rows of NCCL's operations. Call
// inside a transaction.
void add_nccl_view(Database& database);

// Adds the tables STACK_LINE and NODE_STACK and an index to a file of which calls have stacks, and
// to its views the columns that follow from them. Call inside a transaction.
void add_stack_tables(Database& database);

// Adds the view graph_nodes and its tables, unless the file has them. Call inside a transaction.
void add_graph_nodes(Database& database);
// Adds the table NATIVE_LINE.
void add_native_lines(Database& database);
// The SQL of the view graph_nodes, which reads these.
std::string graph_nodes_sql();

// Adds the tables, indexes and views that one of our files lacks.
void complete_schema(Database& database);

}  // namespace gpuprof::store

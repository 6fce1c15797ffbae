// Makes an empty database into a session's, and a session's into a finished file.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"
#include "schema/legacy.hpp"

namespace gpuprof::store {

// All tables, views, docs, enum names. Inside the caller's transaction.
void create_schema(Database& database);

// Makes an empty database a profile without records. `live`: others read it while it grows, by a
// write-ahead log. Outside a transaction.
void make_empty_profile(Database& database, bool live);

// Makes those of the indexes that are not there, of tables that have rows. Outside a transaction:
// each has one of its own.
void create_indexes(Database& database, std::span<const schema::Index> indexes);

// The SQL that makes a table, index or view of this name, if it is one of ours or of nvprof's; in
// any case of letters. `ours`: for a file of ours, else for one of nvprof's, whose tables have no
// column for the process, and which has tables where ours has empty views.
std::optional<std::string> own_sql(std::string_view type, std::string_view name, bool ours);

// What makes the table of this name, by our own text, with those of its columns that `has` says yes
// to; of these too that an older gpuprof gave another name. Nothing: it is none of ours or
// nvprof's, or has no such columns.
std::optional<std::string> own_table_sql(std::string_view name, bool ours,
                                         const std::function<bool(std::string_view column)>& has);

// Makes this build's tables of words and fills them: STATISTIC_DOC, ENUM_NAME, TABLE_DOC, and those
// of the view COLUMN_DOC. They must not exist yet.
void create_words(Database& database);

// Of a small file most is pages that hold next to nothing, one for each of the tables there are:
// one with less than 4 MiB gets small pages. Nothing happens when another process has it open.
// Outside a transaction, without a write-ahead log.
void use_small_pages(Database& database);

// Adds what a file of ours lacks of its tables, indexes and views.
void complete_schema(Database& database);

}  // namespace gpuprof::store

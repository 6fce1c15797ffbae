// Tables of words: what numbers, tables, columns and statistics are called and mean. This build's
// own, but for the names of the CUDA API, which collectors send.
#pragma once

#include <array>
#include <string_view>

#include "schema/column.hpp"

namespace gpuprof::schema {

namespace tables {

inline constexpr Column statistic_doc_columns[]{
    stored("name", Type::text, "name of the statistic"),
    stored("severity", Type::text, "info, notice, data_loss or error"),
    stored("help", Type::text, "what was counted, and what to do about it"),
};
inline constexpr Table statistic_doc{.name = "STATISTIC_DOC",
                                     .doc = "What each statistic means.",
                                     .columns = statistic_doc_columns,
                                     .origin = Origin::words,
                                     .key = "name"};

inline constexpr Column enum_name_columns[]{
    stored("enum", Type::text, "type as the columns' docs name it"),
    stored("value", Type::i64, "number in the column"),
    stored("name", Type::text, "short name, nvprof's where it has one"),
};
inline constexpr Table enum_name{.name = "ENUM_NAME",
                                 .doc = "Names of the numbers in columns whose doc says enum.",
                                 .columns = enum_name_columns,
                                 .origin = Origin::words,
                                 .key = "enum, value",
                                 .without_rowid = true};

inline constexpr Column api_name_columns[]{
    stored("domain", Type::text, "runtime or driver"),
    stored("cbid", Type::i64, "number of the function, as RUNTIME.cbid and DRIVER.cbid have it"),
    stored("name", Type::text,
           "CUPTI's name of the function, suffixes such as _v3020 and _ptsz included"),
};
inline constexpr Table api_name{
    .name = "API_NAME",
    .doc = "Names of the CUDA functions, as the CUPTI that ran knows them.",
    .columns = api_name_columns,
    .origin = Origin::words,
    .key = "domain, cbid"};

inline constexpr Column table_doc_columns[]{
    stored("table", Type::text, "name of the table or view"),
    stored("doc", Type::text, "what a row is"),
};
inline constexpr Table table_doc{.name = "TABLE_DOC",
                                 .doc = "What each table and view is.",
                                 .columns = table_doc_columns,
                                 .origin = Origin::words,
                                 .key = "table"};

inline constexpr Column column_doc_columns[]{
    stored("table", Type::text, "name of the table"),
    stored("column", Type::text, "name of the column"),
    stored("doc", Type::text, "meaning, unit, what stands for none"),
};
inline constexpr Table column_doc{.name = "COLUMN_DOC",
                                  .doc = "What each column of the tables is.",
                                  .columns = column_doc_columns,
                                  .origin = Origin::words,
                                  .key = "\"table\", \"column\"",
                                  .without_rowid = true};

}  // namespace tables

}  // namespace gpuprof::schema

// Tables of words: the names and meanings of numbers, tables, columns and statistics. They are this
// build's own, except for CUDA API names, which collectors send.
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
                                     .origin = Origin::words};

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
    .key = "domain, cbid",
    .without_rowid = true};

// Names and docs occur several times, so the views TABLE_DOC and COLUMN_DOC join two tables.
inline constexpr Column table_text_columns[]{
    stored("table", Type::integer, "name of the table or view: DOC_TEXT.id"),
    stored("doc", Type::i64, "what a row is: DOC_TEXT.id"),
    stored("type", Type::i64, "table or view: DOC_TEXT.id"),
    stored("lookFirst", Type::i64, "as TABLE_DOC.look_first"),
};
inline constexpr Table table_text{
    .name = "TABLE_TEXT",
    .doc = "The tables and views. The view TABLE_DOC has them in words.",
    .columns = table_text_columns,
    .origin = Origin::words,
    .key = "table"};

inline constexpr Column column_text_columns[]{
    stored("table", Type::i64, "name of the table or view: DOC_TEXT.id"),
    stored("column", Type::i64, "name of the column: DOC_TEXT.id"),
    stored("doc", Type::i64, "what it means: DOC_TEXT.id"),
    stored("unit", Type::i64, "as COLUMN_DOC.unit: DOC_TEXT.id; NULL = none"),
};
inline constexpr Table column_text{
    .name = "COLUMN_TEXT",
    .doc = "The columns of tables and views. The view COLUMN_DOC has them in words.",
    .columns = column_text_columns,
    .origin = Origin::words,
    .key = "\"table\", \"column\"",
    .without_rowid = true};

inline constexpr Column doc_text_columns[]{
    stored("id", Type::integer, "number of the text"),
    stored("text", Type::text, "a name, a unit, or what a column means"),
};
inline constexpr Table doc_text{.name = "DOC_TEXT",
                                .doc = "Texts of TABLE_TEXT and COLUMN_TEXT.",
                                .columns = doc_text_columns,
                                .origin = Origin::words,
                                .key = "id"};

inline constexpr Column no_rows_columns[]{
    stored("t", Type::text, "nothing"),
    stored("i", Type::integer, "nothing"),
    stored("r", Type::f64, "nothing"),
};
inline constexpr Table no_rows{.name = "NO_ROWS",
                               .doc =
                                   "Empty: views have the types of their columns from it, for "
                                   "those who ask for types before there is a row.",
                               .columns = no_rows_columns,
                               .origin = Origin::words};

}  // namespace tables

}  // namespace gpuprof::schema

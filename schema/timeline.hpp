// Tables of a stored timeline: what gpuprof view draws of a long run.
#pragma once

#include "schema/column.hpp"

namespace gpuprof::schema::tables {

inline constexpr Column timeline_table_columns[]{
    stored("name", Type::text, "the table whose rows are drawn"),
    stored("kind", Type::text, "what its tracks are: stream, range_on_gpu, range, api, ..."),
    stored("lastId", Type::i64, "greatest _id_ that it had: with another one the timeline is old"),
    stored("withoutTimes", Type::i64, "[count] work of a GPU that has no times"),
    stored("leftOut", Type::i64, "[count] records of too many tracks"),
};
inline constexpr Table timeline_table{
    .name = "TIMELINE_TABLE",
    .doc =
        "What the timeline was made of. Files with 30 million records and more have one, others on "
        "request; without it gpuprof view reads all records.",
    .columns = timeline_table_columns,
    .origin = Origin::computed,
    .row_doc = "number of the table in blocks and in TIMELINE_NAME"};

inline constexpr Column timeline_name_columns[]{
    stored("tableNumber", Type::i64, "TIMELINE_TABLE._id_"),
    stored("named", Type::i64,
           "what that table has as its name: an id of a string, a cbid or the like"),
    stored("records", Type::i64, "[count] how many have the name"),
    stored("total", Type::i64, "[ns] how long they took, their sum"),
    stored("longest", Type::i64, "[ns] how long the longest took"),
};
inline constexpr Table timeline_name{.name = "TIMELINE_NAME",
                                     .doc = "Names of the timeline's records.",
                                     .columns = timeline_name_columns,
                                     .origin = Origin::computed,
                                     .row_doc = "number of the name in blocks"};

inline constexpr Column timeline_row_columns[]{
    stored("kind", Type::text, "what the track is, as TIMELINE_TABLE says"),
    stored("key0", Type::i64, "stream, range_on_gpu: the device; others: the process"),
    stored("key1", Type::i64,
           "stream, range_on_gpu: the process; api, range, overhead: the thread"),
    stored("key2", Type::i64, "stream: the context; range_on_gpu: the thread; range: the domain"),
    stored("key3", Type::i64, "stream: the stream"),
    stored("place", Type::i64, "place of the row in its track; in row 0 nothing overlaps"),
    stored("records", Type::i64, "[count] records in the row"),
    stored("leftOut", Type::i64, "[count] of the track, records that found no row; in row 0"),
    stored("blocks", Type::bytes, "44 bytes for each block, see docs/design/viewer.md"),
};
inline constexpr Table timeline_row{
    .name = "TIMELINE_ROW",
    .doc = "Rows of the timeline's tracks: records that do not overlap, in the order of time.",
    .columns = timeline_row_columns,
    .origin = Origin::computed,
    .row_doc = row_id_doc};

inline constexpr Column timeline_block_columns[]{
    stored("records", Type::bytes, "some hundred records of a row, see docs/design/viewer.md"),
};
inline constexpr Table timeline_block{.name = "TIMELINE_BLOCK",
                                      .doc = "The timeline's records.",
                                      .columns = timeline_block_columns,
                                      .origin = Origin::computed,
                                      .row_doc = row_id_doc};

}  // namespace gpuprof::schema::tables

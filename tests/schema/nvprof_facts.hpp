// What nvprof 11.8 has in its database, read from the .tsv files in this folder.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace nvprof_facts {

struct Column {
  std::string name;
  std::string declared_type;  // INT, INTEGER, BLOB, TEXT, REAL
  std::string reader_type;    // int32, int64, stringId, blob[N]; empty: not an activity kind
};

struct Table {
  std::string name;
  std::vector<Column> columns;  // in order, _id_ included
};

struct Index {
  std::string name;
  std::string table;
  std::string column;
};

inline std::vector<std::vector<std::string>> read_tsv(const std::string& name) {
  std::ifstream file(std::string(GPUPROF_SOURCE_DIR) + "/tests/schema/" + name);
  if (!file) throw std::runtime_error("cannot read " + name);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(file, line);  // the heading
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    cells.resize(10);
    rows.push_back(cells);
  }
  return rows;
}

inline std::vector<Table> tables() {
  std::vector<Table> all;
  for (const auto& row : read_tsv("nvprof-schema.tsv")) {
    if (all.empty() || all.back().name != row[0]) all.push_back({row[0], {}});
    all.back().columns.push_back({row[2], row[3], row[8]});
  }
  return all;
}

// The indexes that are there in a file of nvprof's.
inline std::vector<Index> indexes() {
  std::vector<Index> all;
  for (const auto& row : read_tsv("nvprof-indexes.tsv")) {
    if (row[3] == "yes") all.push_back({row[0], row[1], row[2]});
  }
  return all;
}

}  // namespace nvprof_facts

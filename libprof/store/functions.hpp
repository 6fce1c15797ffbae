// What SQL may call on a connection with content of others.
//
// SQLite asks nobody while it is inside a function: what a call may take is decided here. Each
// function that may be called takes no more time than its arguments and its result are long, and no
// value is longer than Guard allows.
#pragma once

#include <string_view>

struct sqlite3;

namespace gpuprof::store {

// In views that stand in a file: what gpuprof's own views call, and some of the kind.
bool view_may_call(std::string_view function);
// In a question of the user's.
bool user_may_call(std::string_view function);

// Puts functions of our own in the place of those whose work is the product of the lengths of their
// arguments, and takes away all that a user may not call: computed columns of a file call functions
// that nobody is asked about.
void confine_functions(sqlite3* connection);

}  // namespace gpuprof::store

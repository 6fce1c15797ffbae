// Before every file of a ThreadSanitizer build. The sanitizer of GCC 12 does not see the lock that
// std::timed_mutex takes by the steady clock (pthread_mutex_clocklock) and calls its unlock wrong;
// without it libstdc++ takes one that the sanitizer sees, as that of GCC 13 does by itself.
#include <version>

#if __GNUC__ < 13
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK
#endif

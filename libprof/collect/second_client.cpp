#include "libprof/collect/second_client.hpp"

#include <cupti.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "libprof/collect/share/stand_ins.hpp"

namespace gpuprof::collect {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t imports[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT};
#elif defined(__aarch64__)
constexpr std::uint32_t imports[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT};
#endif

std::atomic<void (*)(const char*)> tell{nullptr};
std::atomic<decltype(&::cuptiActivityPushExternalCorrelationId)> own_push{nullptr};
std::atomic<decltype(&::cuptiActivityPopExternalCorrelationId)> own_pop{nullptr};
std::atomic<ElfW(Addr)> own_cupti{~ElfW(Addr){0}};  // where it is loaded; 0 is a program's

const char* library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "a library";
}

// The function a library would have called without us.
template <class F>
F* meant_by(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle ? reinterpret_cast<F*>(dlsym(handle, name)) : nullptr;
}

template <class... Arguments>
CUptiResult answer(const char* library, const char* name, Arguments... arguments) {
  if (const auto told = tell.load()) {
    told(library);
  } else if (const auto real = meant_by<CUptiResult(Arguments...)>(library, name)) {
    return real(arguments...);
  }
  return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* data) {
  const char* library = library_of(__builtin_return_address(0));
  return answer(library, "cuptiSubscribe", handle, callback, data);
}

CUptiResult subscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* data,
                         void* parameters) {
  const char* library = library_of(__builtin_return_address(0));
  return answer(library, "cuptiSubscribe_v2", handle, callback, data, parameters);
}

void* replacement(const char* name) {
  if (have_stand_ins()) return stand_in_for_import(name);
  if (std::strcmp(name, "cuptiSubscribe") == 0) return reinterpret_cast<void*>(&subscribe);
  if (std::strcmp(name, "cuptiSubscribe_v2") == 0) return reinterpret_cast<void*>(&subscribe_v2);
  if (std::strcmp(name, "cuptiActivityPushExternalCorrelationId") == 0) {
    return reinterpret_cast<void*>(own_push.load());
  }
  if (std::strcmp(name, "cuptiActivityPopExternalCorrelationId") == 0) {
    return reinterpret_cast<void*>(own_pop.load());
  }
  return nullptr;
}

// What the dynamic section of a library says about its imports.
struct Imports {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  struct List {
    const ElfW(Rela) * first = nullptr;
    std::size_t bytes = 0;
  } calls, data;
};

Imports find_imports(const dl_phdr_info& library) {
  Imports found;
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const auto& header = library.dlpi_phdr[i];
    if (header.p_type == PT_DYNAMIC) {
      entry = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + header.p_vaddr);
    }
  }
  for (; entry && entry->d_tag != DT_NULL; ++entry) {
    // glibc has made these addresses absolute.
    const auto address = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB: found.symbols = reinterpret_cast<const ElfW(Sym)*>(address); break;
      case DT_STRTAB: found.names = reinterpret_cast<const char*>(address); break;
      case DT_JMPREL: found.calls.first = reinterpret_cast<const ElfW(Rela)*>(address); break;
      case DT_PLTRELSZ: found.calls.bytes = entry->d_un.d_val; break;
      case DT_RELA: found.data.first = reinterpret_cast<const ElfW(Rela)*>(address); break;
      case DT_RELASZ: found.data.bytes = entry->d_un.d_val; break;
      default: break;
    }
  }
  return found;
}

bool read_only_after_start(const dl_phdr_info& library, std::uintptr_t address) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const auto& header = library.dlpi_phdr[i];
    if (header.p_type != PT_GNU_RELRO) continue;
    const std::uintptr_t first = library.dlpi_addr + header.p_vaddr;
    if (address >= first && address < first + header.p_memsz) return true;
  }
  return false;
}

void replace(const dl_phdr_info& library, std::uintptr_t slot, void* function) {
  static const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const place = reinterpret_cast<std::atomic<void*>*>(slot);
  if (place->load() == function) return;
  const bool sealed = read_only_after_start(library, slot);
  auto* const page_start = reinterpret_cast<void*>(slot & ~(page_bytes - 1));
  if (sealed && mprotect(page_start, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
  place->store(function);
  if (sealed) mprotect(page_start, page_bytes, PROT_READ);
}

void look_through(const dl_phdr_info& library) {
  const Imports found = find_imports(library);
  if (!found.symbols || !found.names) return;
  for (const Imports::List& list : {found.calls, found.data}) {
    for (std::size_t i = 0; i < list.bytes / sizeof(ElfW(Rela)) && list.first; ++i) {
      const ElfW(Rela)& import = list.first[i];
      const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(import.r_info));
      if (type != imports[0] && type != imports[1]) continue;
      const char* name = found.names + found.symbols[ELF64_R_SYM(import.r_info)].st_name;
      if (void* function = replacement(name)) {
        replace(library, library.dlpi_addr + import.r_offset, function);
      }
    }
  }
}

// Neither CUPTI nor gpuprof's own libraries.
bool may_be_client(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash ? slash + 1 : path;
  return !std::strstr(name, "libcupti") && !std::strstr(name, "gpuprof");
}

// Unless no library was loaded since the loader had counted `seen`.
void look_through_new(unsigned long long seen) {
  // The loader's lock is held in here, so no library can be unloaded meanwhile.
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* seen_before) {
        // The count is the same for all libraries. The first call examines all of them, and so does
        // a later one if any was added: there is no telling which.
        if (library->dlpi_adds == *static_cast<unsigned long long*>(seen_before)) return 1;
        const bool is_ours = library->dlpi_addr == own_cupti.load();
        if (!is_ours && may_be_client(library->dlpi_name ? library->dlpi_name : "")) {
          look_through(*library);
        }
        return 0;
      },
      &seen);
}

}  // namespace

void spare_cupti(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0) own_cupti.store(map->l_addr);
}

void take_external_correlation(decltype(&::cuptiActivityPushExternalCorrelationId) push,
                               decltype(&::cuptiActivityPopExternalCorrelationId) pop) {
  own_push.store(push);
  own_pop.store(pop);
}

void leave_second_clients_alone() { tell.store(nullptr); }

void watch_for_second_clients(void (*told)(const char* library)) {
  static unsigned long long seen = 0;  // libraries loaded so far
  tell.store(told);
  look_through_new(seen);
  // The loader, which is locked while libraries are looked through, finds what some import.
  if (have_stand_ins() && look_up_imports()) look_through_new(0);
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* loaded) {
        *static_cast<unsigned long long*>(loaded) = library->dlpi_adds;
        return 1;
      },
      &seen);
}

}  // namespace gpuprof::collect

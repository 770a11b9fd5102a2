// What the library takes of the Python that runs in its process: functions of its stable interface, found by name. The
// library is linked to no Python, so one file serves all versions, and programs that have none.
#pragma once

#include <cstddef>

namespace aotriton::api::python {

struct Object;                // PyObject, which nothing here looks into
using Size = std::ptrdiff_t;  // Py_ssize_t

struct Functions {
  void* (*save_thread)();
  void (*restore_thread)(void* state);
  void (*drop)(Object* object);
  Object* (*type_of)(Object* object);  // a new reference
  Object* (*attribute)(Object* object, Object* name);
  Object* (*interned)(const char* text);
  Object* (*error)();  // borrowed; null where none is set
  void* (*capsule_pointer)(Object* capsule, const char* name);
  Object* (*integer)(long value);
  long long (*to_integer)(Object* object);
  unsigned long long (*to_address)(Object* object);
  double (*to_real)(Object* object);
  const char* (*to_text)(Object* text, Size* bytes);
  Size (*tuple_size)(Object* tuple);
  Object* (*tuple_item)(Object* tuple, Size position);  // borrowed
  int (*dict_next)(Object* dict, Size* position, Object** key, Object** value);
  Object* none;
  Object* bool_type;
  Object* float_type;
  Object* int_type;
  Object* tuple_type;

  // The type of an object, for comparing: whoever holds the object keeps it alive.
  const Object* kind_of(Object* object) const {
    Object* const type = type_of(object);
    drop(type);
    return type;
  }
};

// Null where the process has no Python, or one that lacks a function of these.
const Functions* functions();

// Others may use the interpreter while this stands: nothing of it may be touched.
class Released {
 public:
  explicit Released(const Functions& python) : python_(python), state_(python.save_thread()) {}
  ~Released() { python_.restore_thread(state_); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  const Functions& python_;
  void* state_;
};

}  // namespace aotriton::api::python

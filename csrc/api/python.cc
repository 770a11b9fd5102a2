#include "api/python.h"

#include <dlfcn.h>

namespace aotriton::api::python {
namespace {

class Finder {
 public:
  template <typename Pointer>
  Finder& find(Pointer*& pointer, const char* name) {
    pointer = reinterpret_cast<Pointer*>(dlsym(RTLD_DEFAULT, name));
    complete_ &= pointer != nullptr;
    return *this;
  }
  bool complete() const { return complete_; }

 private:
  bool complete_ = true;
};

bool find_all(Functions& python) {
  return Finder()
      .find(python.save_thread, "PyEval_SaveThread")
      .find(python.restore_thread, "PyEval_RestoreThread")
      .find(python.drop, "Py_DecRef")
      .find(python.type_of, "PyObject_Type")
      .find(python.attribute, "PyObject_GetAttr")
      .find(python.interned, "PyUnicode_InternFromString")
      .find(python.error, "PyErr_Occurred")
      .find(python.capsule_pointer, "PyCapsule_GetPointer")
      .find(python.integer, "PyLong_FromLong")
      .find(python.to_integer, "PyLong_AsLongLong")
      .find(python.to_address, "PyLong_AsUnsignedLongLong")
      .find(python.to_real, "PyFloat_AsDouble")
      .find(python.to_text, "PyUnicode_AsUTF8AndSize")
      .find(python.tuple_size, "PyTuple_Size")
      .find(python.tuple_item, "PyTuple_GetItem")
      .find(python.dict_next, "PyDict_Next")
      .find(python.none, "_Py_NoneStruct")
      .find(python.bool_type, "PyBool_Type")
      .find(python.float_type, "PyFloat_Type")
      .find(python.int_type, "PyLong_Type")
      .find(python.tuple_type, "PyTuple_Type")
      .complete();
}

}  // namespace

const Functions* functions() {
  static Functions found{};
  static const bool complete = find_all(found);
  return complete ? &found : nullptr;
}

}  // namespace aotriton::api::python

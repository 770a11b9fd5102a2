// The index as JSON, for people and programs that look into a pack.
#include "core/json.h"
#include "core/text.h"
#include "pack/index.h"

namespace aotriton::pack {
namespace {

using core::JsonWriter;

// A vector of tables (which may be absent) as an array; `write` prints one.
template <typename Vector, typename Write>
void array(JsonWriter& json, const char* name, const Vector* vector, Write write) {
  json.key(name).begin_array();
  for (unsigned i = 0; vector != nullptr && i < vector->size(); ++i) write(vector->Get(i));
  json.end_array();
}

template <typename Vector>
void numbers(JsonWriter& json, const char* name, const Vector* vector) {
  array(json, name, vector, [&](auto number) { json.value(number); });
}

void text(JsonWriter& json, const char* name, const flatbuffers::String* content) {
  if (content != nullptr) json.member(name, content->string_view());
}

void expression(JsonWriter& json, const index::Expression& expression) {
  json.begin_object();
  text(json, "text", expression.text());
  array(json, "steps", expression.steps(), [&](const index::Step* step) {
    json.begin_array().value(index::EnumNameOperation(step->operation())).value(step->value()).end_array();
  });
  json.end_object();
}

void argument(JsonWriter& json, const index::Argument& argument) {
  json.begin_object();
  text(json, "name", argument.name());
  json.member("role", index::EnumNameRole(argument.role())).member("type", index::EnumNameType(argument.type()));
  if (argument.role() == index::Role::stride) {
    json.member("tensor", argument.tensor()).member("dimension", argument.dimension());
  }
  json.member("rank", argument.rank()).member("optional", argument.optional()).member("dense", argument.dense());
  if (argument.role() == index::Role::descriptor) json.member("fills_nan", argument.fills_nan());
  json.end_object();
}

void choice(JsonWriter& json, const index::Choice& choice) {
  json.begin_object();
  text(json, "text", choice.text());
  json.member("kind", index::EnumNameChoiceKind(choice.kind())).member("integer", choice.integer());
  json.member("real", choice.real()).member("type", index::EnumNameType(choice.type()));
  json.member("alignment", choice.alignment()).end_object();
}

void axis(JsonWriter& json, const index::Axis& axis) {
  json.begin_object();
  text(json, "label", axis.label());
  numbers(json, "arguments", axis.arguments());
  array(json, "choices", axis.choices(), [&](const index::Choice* one) { choice(json, *one); });
  json.member("radix_stride", axis.radix_stride()).member("rule", index::EnumNameRule(axis.rule()));
  if (axis.request() != nullptr) {
    json.key("request");
    expression(json, *axis.request());
  }
  array(json, "substitutes", axis.substitutes(), [&](const index::Substitutes* one) {
    json.begin_array();
    for (unsigned i = 0; one->choices() != nullptr && i < one->choices()->size(); ++i) {
      json.value(one->choices()->Get(i));
    }
    json.end_array();
  });
  json.end_object();
}

void signature(JsonWriter& json, const index::Signature& signature) {
  json.begin_object();
  array(json, "parameters", signature.parameters(), [&](const index::Parameter* one) {
    json.begin_object().member("argument", one->argument()).member("type", index::EnumNameType(one->type()));
    json.member("pointer", one->pointer()).member("alignment", one->alignment()).end_object();
  });
  array(json, "fixed", signature.fixed(), [&](const index::Fixed* one) {
    json.begin_object().member("argument", one->argument()).member("value", one->value()).end_object();
  });
  json.end_object();
}

void config(JsonWriter& json, const index::Config& config) {
  json.begin_object();
  text(json, "performance", config.performance());
  text(json, "options", config.options());
  array(json, "values", config.values(), [&](const index::Value* one) {
    json.begin_object().member("argument", one->argument()).member("integer", one->integer());
    text(json, "text", one->text());
    json.end_object();
  });
  json.end_object();
}

void table(JsonWriter& json, const index::LookupTable& table) {
  json.begin_object();
  array(json, "keys", table.keys(), [&](const index::Key* one) {
    json.begin_object().member("argument", one->argument());
    numbers(json, "bins", one->bins());
    json.end_object();
  });
  numbers(json, "cells", table.cells());
  text(json, "source", table.source());
  json.end_object();
}

void image(JsonWriter& json, const index::Image& image) {
  json.begin_object().member("config", image.config());
  text(json, "name", image.name());
  json.member("sha256", core::hex({image.sha256()->data(), image.sha256()->size()})).member("bytes", image.bytes());
  json.member("shared", image.shared()).member("threads", image.threads()).member("num_ctas", image.num_ctas());
  json.member("registers", image.registers()).member("spills", image.spills());
  text(json, "compiled_for", image.compiled_for());
  if (image.tensor_maps() != nullptr) {
    array(json, "tensor_maps", image.tensor_maps(), [&](const index::TensorMap* one) {
      json.begin_object();
      numbers(json, "block", one->block());
      json.member("swizzle", one->swizzle()).end_object();
    });
  }
  json.member("dependent", image.dependent()).member("cooperative", image.cooperative()).end_object();
}

void target(JsonWriter& json, const index::Target& target) {
  json.begin_object();
  text(json, "name", target.name());
  array(json, "functionals", target.functionals(), [&](const index::Functional* one) {
    json.begin_object().member("number", one->number());
    text(json, "text", one->text());
    json.member("signature", one->signature()).member("table", one->table());
    numbers(json, "configs", one->configs());
    array(json, "images", one->images(), [&](const index::Image* each) { image(json, *each); });
    json.end_object();
  });
  array(json, "exclusions", target.exclusions(), [&](const index::Exclusion* one) {
    json.begin_object();
    text(json, "reason", one->reason());
    json.member("kind", index::EnumNameExclusionKind(one->kind()));
    numbers(json, "numbers", one->numbers());
    json.end_object();
  });
  array(json, "serves", target.serves(), [&](const flatbuffers::String* one) { json.value(one->string_view()); });
  json.end_object();
}

void properties(JsonWriter& json, const char* name,
                const flatbuffers::Vector<flatbuffers::Offset<index::Property>>* properties) {
  json.key(name).begin_object();
  for (unsigned i = 0; properties != nullptr && i < properties->size(); ++i) {
    const index::Property& property = *properties->Get(i);
    json.member(property.key()->string_view(), property.value()->string_view());
  }
  json.end_object();
}

}  // namespace

std::string index_to_json(const index::Index& index) {
  JsonWriter json;
  json.begin_object().member("schema_version", index.schema_version());
  text(json, "family", index.family());
  text(json, "kernel", index.kernel());
  text(json, "symbol", index.symbol());
  json.member("scratch_parameters", index.scratch_parameters());
  array(json, "arguments", index.arguments(), [&](const index::Argument* one) { argument(json, *one); });
  array(json, "axes", index.axes(), [&](const index::Axis* one) { axis(json, *one); });
  array(json, "signatures", index.signatures(), [&](const index::Signature* one) { signature(json, *one); });
  array(json, "configs", index.configs(), [&](const index::Config* one) { config(json, *one); });
  array(json, "tables", index.tables(), [&](const index::LookupTable* one) { table(json, *one); });
  array(json, "targets", index.targets(), [&](const index::Target* one) { target(json, *one); });
  array(json, "grid", index.grid(), [&](const index::Expression* one) { expression(json, *one); });
  text(json, "description_hash", index.description_hash());
  properties(json, "compiler", index.compiler());
  properties(json, "build", index.build());
  return json.end_object().take();
}

}  // namespace aotriton::pack

// Texts, JSON, hashes, numbers, expressions.
#include "core/json.h"
#include "core/sha256.h"
#include "core/text.h"
#include "dispatch/expression.h"
#include "dispatch/parameters.h"
#include "tests/check.h"

#include <cmath>
#include <cstdint>
#include <limits>

using namespace aotriton;
using dispatch::Fault;
using index::Operation;

static std::string hash_of(const std::string& text) {
  return core::hex(core::sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
}

TEST(sha256_has_the_standard_values) {
  CHECK_EQUAL(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK_EQUAL(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK_EQUAL(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK_EQUAL(hash_of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK_EQUAL(hash_of("Q='*fp16:16';BLOCK_DMODEL=16;PADDED_HEAD=False;ENABLE_DROPOUT=False;CAUSAL_TYPE=0;BIAS_TYPE=0"),
              "4bdef2c052c1dbb0f03201794a275f9929a2d5705f6ff9ad566cd61c7b1d3f61");
}

TEST(json_is_well_formed) {
  core::JsonWriter json;
  json.begin_object().member("a", 1).member("b", true).member("c", "x\"\\\n\x01").key("d").begin_array();
  json.value(-5).value(2.5).null().begin_object().end_object().end_array();
  json.member("e", std::numeric_limits<double>::infinity()).member("f", "\xff\xc3\xa9").end_object();
  CHECK_EQUAL(json.take(), "{\"a\": 1, \"b\": true, \"c\": \"x\\\"\\\\\\u000a\\u0001\", "
                           "\"d\": [-5, 2.5, null, {}], \"e\": null, \"f\": \"\\ufffd\xc3\xa9\"}");
}

TEST(utf8_accepts_only_what_is) {
  CHECK_EQUAL(core::utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK_EQUAL(core::utf8("\xc0\x80"), "\xef\xbf\xbd\xef\xbf\xbd");             // overlong
  CHECK_EQUAL(core::utf8("\xed\xa0\x80").substr(0, 3), "\xef\xbf\xbd");        // surrogate
  CHECK_EQUAL(core::utf8("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");             // cut off
}

TEST(reals_round_to_nearest_even) {
  using index::Type;
  const auto bits = dispatch::bits_of_real;
  CHECK_EQUAL(bits(1.0, Type::fp16), 0x3c00u);
  CHECK_EQUAL(bits(-2.0, Type::fp16), 0xc000u);
  CHECK_EQUAL(bits(65504.0, Type::fp16), 0x7bffu);
  CHECK_EQUAL(bits(65519.9, Type::fp16), 0x7bffu);
  CHECK_EQUAL(bits(65520.0, Type::fp16), 0x7c00u);
  CHECK_EQUAL(bits(1e300, Type::fp16), 0x7c00u);
  CHECK_EQUAL(bits(std::ldexp(1.0, -24), Type::fp16), 0x0001u);
  CHECK_EQUAL(bits(std::ldexp(1.0, -25), Type::fp16), 0x0000u);
  CHECK_EQUAL(bits(std::ldexp(1.5, -25), Type::fp16), 0x0001u);
  CHECK_EQUAL(bits(std::ldexp(1023.5, -24), Type::fp16), 0x0400u);             // up to the least normal number
  CHECK_EQUAL(bits(1.0 + std::ldexp(1.0, -11), Type::fp16), 0x3c00u);          // a tie, to even
  CHECK_EQUAL(bits(1.0 + std::ldexp(3.0, -11), Type::fp16), 0x3c02u);
  CHECK_EQUAL(bits(1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40), Type::fp16), 0x3c01u);
  CHECK_EQUAL(bits(1.0, Type::bf16), 0x3f80u);
  CHECK_EQUAL(bits(3.3895313892515355e38, Type::bf16), 0x7f7fu);
  CHECK_EQUAL(bits(3.4e38, Type::bf16), 0x7f80u);
  CHECK_EQUAL(bits(std::ldexp(1.0, -133), Type::bf16), 0x0001u);
  CHECK_EQUAL(bits(-0.0, Type::bf16), 0x8000u);
  CHECK_EQUAL(bits(std::nan(""), Type::bf16), 0x7fc0u);
  CHECK_EQUAL(bits(0.1, Type::fp32), 0x3dcccccdu);
}

static dispatch::Evaluation eval(const std::vector<index::Step>& steps, const dispatch::Numbers& numbers = dispatch::Numbers{}) {
  flatbuffers::FlatBufferBuilder builder;
  const auto all = builder.CreateVectorOfStructs(steps);
  builder.Finish(index::CreateExpression(builder, all, builder.CreateString("")));
  return dispatch::evaluate(*flatbuffers::GetRoot<index::Expression>(builder.GetBufferPointer()), numbers);
}

static std::int64_t binary(Operation operation, std::int64_t a, std::int64_t b) {
  const auto result = eval({{a, Operation::constant}, {b, Operation::constant}, {0, operation}});
  CHECK(result.fault == Fault::none);
  return result.value;
}

TEST(expressions_divide_as_python) {
  for (const std::int64_t a : {-7, -6, -1, 0, 1, 6, 7}) {
    for (const std::int64_t b : {-3, -1, 1, 3}) {
      const auto down = static_cast<std::int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
      CHECK_EQUAL(binary(Operation::floordiv, a, b), down);
      CHECK_EQUAL(binary(Operation::modulo, a, b), a - down * b);
      const auto up = static_cast<std::int64_t>(std::ceil(static_cast<double>(a) / static_cast<double>(b)));
      CHECK_EQUAL(binary(Operation::cdiv, a, b), up);
    }
  }
  CHECK_EQUAL(binary(Operation::cdiv, INT64_MAX, 2), (std::int64_t{1} << 62));
  CHECK_EQUAL(binary(Operation::modulo, INT64_MIN, -1), 0);
}

TEST(expressions_compare_and_choose) {
  CHECK_EQUAL(binary(Operation::minimum, 3, -2), -2);
  CHECK_EQUAL(binary(Operation::maximum, 3, -2), 3);
  CHECK_EQUAL(binary(Operation::less, 3, 3), 0);
  CHECK_EQUAL(binary(Operation::less_equal, 3, 3), 1);
  CHECK_EQUAL(binary(Operation::greater, 4, 3), 1);
  CHECK_EQUAL(binary(Operation::not_equal, 4, 3), 1);
  CHECK_EQUAL(binary(Operation::logical_and, 4, 0), 0);
  CHECK_EQUAL(binary(Operation::logical_or, 4, 0), 1);
  const index::Step five{5, Operation::constant}, six{6, Operation::constant}, select{0, Operation::select};
  CHECK_EQUAL(eval({{0, Operation::constant}, five, six, select}).value, 6);
  CHECK_EQUAL(eval({{-1, Operation::constant}, five, six, select}).value, 5);
  CHECK_EQUAL(eval({{0, Operation::constant}, {0, Operation::logical_not}}).value, 1);
}

TEST(expressions_tell_their_faults) {
  const auto two = [](std::int64_t a, std::int64_t b, Operation operation) {
    return eval({{a, Operation::constant}, {b, Operation::constant}, {0, operation}}).fault;
  };
  CHECK(two(INT64_MAX, 1, Operation::add) == Fault::overflow);
  CHECK(two(INT64_MIN, 1, Operation::subtract) == Fault::overflow);
  CHECK(two(INT64_MAX, 2, Operation::multiply) == Fault::overflow);
  CHECK(two(INT64_MIN, -1, Operation::floordiv) == Fault::overflow);
  CHECK(two(1, 0, Operation::floordiv) == Fault::division_by_zero);
  CHECK(two(1, 0, Operation::modulo) == Fault::division_by_zero);
  const auto unknown = eval({{3, Operation::argument}});
  CHECK(unknown.fault == Fault::unknown_argument);
  CHECK_EQUAL(unknown.argument, 3);
}

TEST(what_an_expression_does_not_need_may_be_at_fault) {
  // 1 // x if x else 9, with x = 0
  dispatch::Numbers numbers;
  numbers.set(0, 0);
  const index::Step x{0, Operation::argument}, one{1, Operation::constant}, nine{9, Operation::constant};
  const index::Step divide{0, Operation::floordiv}, select{0, Operation::select};
  CHECK_EQUAL(eval({x, one, x, divide, nine, select}, numbers).value, 9);
  CHECK(eval({x, {0, Operation::logical_not}, one, x, divide, nine, select}, numbers).fault == Fault::division_by_zero);
  CHECK_EQUAL(eval({x, one, x, divide, {0, Operation::logical_and}}, numbers).value, 0);
  CHECK_EQUAL(eval({nine, one, x, divide, {0, Operation::logical_or}}, numbers).value, 1);
}

int main() { return aotriton::tests::run_all(); }

@testable import SkyrowWire

/// Texts that RFC 8259 allows.
let validTexts: [String] = [
    "null", "true", "false", "0", "-0", "1", "-1", "10", "1234567890", "9223372036854775807", "-9223372036854775808",
    "9223372036854775808", "123456789012345678901234567890", "0.5", "-0.0", "1.0", "1.25e10", "1E5", "1e+5", "1e-5", "0e0",
    "0e+1", "0E-1", "1e400", "-1e400", "1e-400", "0.1e1", "123.456e-789", "20e1", "1e00", "1e0001",
    "\"\"", "\"a\"", "\" \"", "\"\u{7F}\"", "\"é\"", "\"€\"", "\"😀\"", "\"\u{2028}\u{2029}\"", "\"\u{FEFF}\"", "\"\u{FFFF}\"",
    "\"\u{10FFFF}\"", #""\"""#, #""\\""#, #""\/""#, #""\b\f\n\r\t""#, #""\u0000""#, #""\u0041""#, #""\uabcd\uABCD""#,
    #""\uD83D\uDE00""#, #""\ud800\udc00""#, #""\uDBFF\uDFFF""#, #""\uFFFF""#, #""\\u0041""#, #""a\u000ab""#,
    "[]", "[ ]", "[\n]", "[1]", "[1,2]", "[ 1 , 2 ]", "[[]]", "[[],[]]", "[{}]", "[null,true,false,\"\",0]", "[[[[1]]]]",
    "{}", "{ }", "{\"a\":1}", "{\"a\":1,\"b\":2}", "{\"a\":1,\"a\":2}", "{\"\":0}", "{\"a\":{\"b\":{}}}", "{\"a\":[]}",
    "{ \"a\" : [ { } , 1 ] , \"b\" : null }", "{\"a\\u0062\":1}", " 1 ", "\t\n\r 1\r\n\t ", "\"12345678\"", "\"1234567é\"",
    "\"12345678\\n12345678\"", "{\"a\":\"b\"}\n",
]

/// Texts that it does not, each with the reason and the byte where it shows.
let invalidTexts: [(text: String, reason: JSONParseError.Reason, offset: Int)] = [
    ("", .unexpectedEnd, 0), (" ", .unexpectedEnd, 1), ("\n", .unexpectedEnd, 1),
    ("nul", .unexpectedEnd, 3), ("nulL", .unexpectedByte, 3), ("NULL", .unexpectedByte, 0), ("True", .unexpectedByte, 0),
    ("tru", .unexpectedEnd, 3), ("falsy", .unexpectedByte, 4), ("nulll", .trailingText, 4), ("truetrue", .trailingText, 4),
    ("undefined", .unexpectedByte, 0), ("NaN", .unexpectedByte, 0), ("Infinity", .unexpectedByte, 0),
    ("-Infinity", .invalidNumber, 1),
    ("+1", .unexpectedByte, 0), ("-", .unexpectedEnd, 1), ("--1", .invalidNumber, 1), ("01", .invalidNumber, 1),
    ("-01", .invalidNumber, 2), ("00", .invalidNumber, 1), ("1.", .unexpectedEnd, 2), (".5", .unexpectedByte, 0),
    ("1.e5", .invalidNumber, 2), ("-.5", .invalidNumber, 1), ("1e", .unexpectedEnd, 2), ("1e+", .unexpectedEnd, 3),
    ("1e+-1", .invalidNumber, 3), ("1e1.5", .trailingText, 3), ("0x1F", .trailingText, 1), ("1_000", .trailingText, 1),
    ("1a", .trailingText, 1), ("1 2", .trailingText, 2), ("１", .unexpectedByte, 0), ("[1.]", .invalidNumber, 3),
    ("[-a]", .invalidNumber, 2), ("[012]", .invalidNumber, 2),
    ("\"", .unexpectedEnd, 1), ("\"a", .unexpectedEnd, 2), ("'a'", .unexpectedByte, 0), ("a", .unexpectedByte, 0),
    ("\"a\nb\"", .controlCharacterInString, 2), ("\"\t\"", .controlCharacterInString, 1),
    ("\"\u{0}\"", .controlCharacterInString, 1), ("\"12345678\u{1F}\"", .controlCharacterInString, 9),
    (#""\x41""#, .invalidEscape, 1), (#""\'""#, .invalidEscape, 1), (#""\a""#, .invalidEscape, 1),
    (#""\U0041""#, .invalidEscape, 1), (#""\u00G0""#, .invalidEscape, 5), (#""\u""#, .unexpectedEnd, 4),
    (#""\u00""#, .unexpectedEnd, 6), (#""\u123"x"#, .invalidEscape, 6), ("\"\\", .unexpectedEnd, 2),
    ("\"\\\"", .unexpectedEnd, 3),
    (#""\uD800""#, .unpairedSurrogate, 1), (#""\uDC00""#, .unpairedSurrogate, 1), (#""\uD800\uD800""#, .unpairedSurrogate, 1),
    (#""\uD800\n""#, .unpairedSurrogate, 1), (#""\uD800x""#, .unpairedSurrogate, 1),
    (#""\uDE00\uD83D""#, .unpairedSurrogate, 1), (#""\uD800\u0041""#, .unpairedSurrogate, 1),
    ("[", .unexpectedEnd, 1), ("]", .unexpectedByte, 0), ("[1", .unexpectedEnd, 2), ("[1,", .unexpectedEnd, 3),
    ("[,1]", .unexpectedByte, 1), ("[1,]", .unexpectedByte, 3), ("[1,,2]", .unexpectedByte, 3), ("[1 2]", .unexpectedByte, 3),
    ("[1}", .unexpectedByte, 2), ("[1]]", .trailingText, 3), ("[1:2]", .unexpectedByte, 2), ("[\"a\"", .unexpectedEnd, 4),
    ("[\u{0B}]", .unexpectedByte, 1), ("[\u{A0}]", .unexpectedByte, 1), ("[\u{2060}]", .unexpectedByte, 1),
    ("{", .unexpectedEnd, 1), ("}", .unexpectedByte, 0), ("{\"a\"", .unexpectedEnd, 4), ("{\"a\":", .unexpectedEnd, 5),
    ("{\"a\":1", .unexpectedEnd, 6), ("{\"a\":1,", .unexpectedEnd, 7), ("{\"a\":1,}", .unexpectedByte, 7),
    ("{\"a\" 1}", .unexpectedByte, 5), ("{\"a\"}", .unexpectedByte, 4), ("{a:1}", .unexpectedByte, 1),
    ("{'a':1}", .unexpectedByte, 1), ("{1:1}", .unexpectedByte, 1), ("{,}", .unexpectedByte, 1), ("{\"a\":1]", .unexpectedByte, 6),
    ("{\"a\"::1}", .unexpectedByte, 5), ("{\"a\":1 \"b\":2}", .unexpectedByte, 7), ("{\"a\":/**/1}", .unexpectedByte, 5),
    ("{null:1}", .unexpectedByte, 1), ("{[]:1}", .unexpectedByte, 1), ("{\"a\":1}x", .trailingText, 7),
    ("{}{}", .trailingText, 2), ("# 1", .unexpectedByte, 0), ("1//", .trailingText, 1), ("\u{FEFF}1", .unexpectedByte, 0),
]

/// Strings whose bytes are not UTF-8, each with the byte where it shows.
let invalidUTF8: [(bytes: [UInt8], offset: Int)] = [
    ([0x22, 0x80, 0x22], 1), ([0x22, 0xBF, 0x22], 1), ([0x22, 0xC0, 0x80, 0x22], 1), ([0x22, 0xC1, 0xBF, 0x22], 1),
    ([0x22, 0xC2, 0x22], 1), ([0x22, 0xC2], 1), ([0x22, 0xC2, 0xC2, 0x22], 1), ([0x22, 0xE0, 0x80, 0x80, 0x22], 1),
    ([0x22, 0xE0, 0x9F, 0xBF, 0x22], 1), ([0x22, 0xE2, 0x82, 0x22], 1), ([0x22, 0xED, 0xA0, 0x80, 0x22], 1),
    ([0x22, 0xED, 0xBF, 0xBF, 0x22], 1), ([0x22, 0xF0, 0x80, 0x80, 0x80, 0x22], 1), ([0x22, 0xF0, 0x8F, 0xBF, 0xBF, 0x22], 1),
    ([0x22, 0xF0, 0x9F, 0x98, 0x22], 1), ([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], 1), ([0x22, 0xF5, 0x80, 0x80, 0x80, 0x22], 1),
    ([0x22, 0xFE, 0x22], 1), ([0x22, 0xFF, 0x22], 1), ([0x22, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0xFF, 0x22], 8),
    ([0x22, 0xF0, 0x9F, 0x98], 1),
]

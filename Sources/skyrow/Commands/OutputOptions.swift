import ArgumentParser
import SkyrowJSON
import SkyrowProtocol

/// The output format of a command.
struct OutputOptions: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Print the result as one JSON value.")
    var isJSON = false
}

/// Returns the text of a JSON object, for a command's result.
func jsonObject(_ members: (JSONWriter) -> Void) -> String {
    let writer = JSONWriter()
    writer.beginObject()
    members(writer)
    writer.endObject()
    return String(decoding: writer.bytes, as: UTF8.self)
}

extension JSONWriter {
    func member(named name: String, _ text: String) {
        key(name)
        string(text)
    }
}

import Glibc
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
package import SkyrowSystem

extension SchemaDocument {
    /// Reads a schema file, or standard input for `-`. Throws ``ToolError`` if it is unreadable or not a schema file.
    package init(readingFile path: String) throws(ToolError) {
        let name = SchemaDocument.name(ofFile: path)
        let bytes = try path == "-" ? SchemaDocument.standardInput() : bytesOfFile(path)
        let document: JSONDocument
        do {
            document = try JSONDocument(bytes)
        } catch {
            throw .failure("\(name) is not valid JSON. \(error).")
        }
        do throws(SkyrowError) {
            self = try document.withRoot { root throws(SkyrowError) in try SchemaDocument(schemaFile: root) }
        } catch {
            throw .failure("\(name): \(error.message)")
        }
    }

    /// Returns the file's name for messages.
    package static func name(ofFile path: String) -> String {
        path == "-" ? "standard input" : path
    }

    private static func standardInput() throws(ToolError) -> [UInt8] {
        let input = FileDescriptor(owning: dup(STDIN_FILENO))
        var bytes: [UInt8] = []
        while true {
            let chunk = try input.read(upTo: 65_536)
            if chunk.isEmpty { return bytes }
            bytes += chunk
        }
    }
}

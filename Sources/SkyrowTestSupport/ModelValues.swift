package import SkyrowModel

// Names and ids that a test writes are known to be good.

package func type(_ name: String) -> RecordTypeName { try! RecordTypeName(name) }
package func field(_ name: String) -> FieldName { try! FieldName(name) }
package func id(_ text: String) -> RecordID { try! RecordID(text) }

extension Caller {
    package static let ann = Caller(kind: .user("ann"))
    package static let bob = Caller(kind: .user("bob"))
    package static let master = Caller(kind: .master(actingAs: nil))

    /// The same by a request with a key of a name.
    package func withKey(_ name: KeyName) -> Caller {
        var caller = self
        caller.keyName = name
        return caller
    }
}

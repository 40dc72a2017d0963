/// Returns the name that a misspelled one probably means; nil when no name is near.
package func nearestName(to name: String, of names: [String]) -> String? {
    let limit = max(2, name.utf8.count / 4)
    return
        names.lazy.filter { abs($0.utf8.count - name.utf8.count) <= limit }
        .map { (distance: editDistance(name, $0), name: $0) }
        .filter { $0.distance <= limit }
        .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?
        .name
}

/// Returns how many bytes must be added, removed, changed or swapped with their neighbour to turn one text into the other.
package func editDistance(_ a: String, _ b: String) -> Int {
    let a = Array(a.utf8)
    let b = Array(b.utf8)
    var older: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
        var row = [i + 1]
        for j in b.indices {
            var distance = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { distance = min(distance, older[j - 1] + 1) }
            row.append(distance)
        }
        older = last
        last = row
    }
    return last[b.count]
}

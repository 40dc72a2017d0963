package import SkyrowModel
package import SkyrowQuery

extension WellKnownBinary {
    /// A polygon of closed rings, the outer one first.
    package init(polygon rings: PlacePolygon.Rings) {
        self.init()
        begin(.polygon)
        count(rings.count)
        for ring in rings {
            count(ring.count)
            for corner in ring { position(x: corner.x, y: corner.y) }
        }
    }
}

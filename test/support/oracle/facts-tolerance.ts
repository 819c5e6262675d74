/** Section 3: cuts include their edge with tolerance 1e-10. */

/** x ≥ cut */
export function atLeast(x: number, cut: number): boolean {
  return x >= cut - 1e-10
}

/** x ≤ cut */
export function atMost(x: number, cut: number): boolean {
  return x <= cut + 1e-10
}

/** x > cut, the opposite of x ≤ cut */
export function moreThan(x: number, cut: number): boolean {
  return !atMost(x, cut)
}

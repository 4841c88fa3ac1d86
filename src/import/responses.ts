import type { Certificate, ImportOutcome } from './order.ts'
import type { Difference } from './parity.ts'

/** A certificate as it is answered, printed and kept. */
export function certificateFields(certificate: Certificate) {
  return {
    tool: certificate.tool,
    agrees: certificate.agrees,
    rows: certificate.rows,
    equal: certificate.equal,
    within_rounding: certificate.withinRounding,
    within_tolerance: certificate.withinTolerance,
    differing: certificate.differing,
    largest_difference: certificate.largestDifference,
    tolerance: certificate.tolerance,
    compared_features: certificate.comparedFeatures,
    largest_pd_difference: certificate.largestPdDifference,
    card_sha256: certificate.cardSha256,
    sample_sha256: certificate.sampleSha256,
    spec_sha256: certificate.specSha256,
  }
}

/** What an import answers, whether it was carried out here or by the service. */
export function importFields({
  tool,
  spec,
  conversions,
  faults,
  warnings,
  parity,
  certificate,
}: ImportOutcome) {
  return {
    tool,
    spec,
    conversions: [...conversions],
    faults: [...faults],
    ...(warnings.length > 0 && { spec_warnings: [...warnings] }),
    parity: certificate && certificateFields(certificate),
    differences: parity?.differences.map(differenceFields) ?? [],
  }
}

function differenceFields(difference: Difference) {
  const { path, id, expectedScore, actualScore, expectedPd, actualPd, features } = difference
  return {
    path,
    id,
    expected_score: expectedScore,
    actual_score: actualScore,
    expected_pd: expectedPd,
    actual_pd: actualPd,
    features: features.map(({ feature, bin, expectedPoints, actualPoints }) => ({
      feature,
      bin,
      expected_points: expectedPoints,
      actual_points: actualPoints,
    })),
  }
}

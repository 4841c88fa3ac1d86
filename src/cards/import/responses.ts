import type { Difference, RoundedRow } from './parity.ts'
import type { Certificate, ImportOutcome } from './run-import.ts'

/** A certificate in the form in which it is returned, printed and stored. */
export function certificateFields(certificate: Certificate) {
  return {
    pd_checked: certificate.isPdChecked,
    pd_fitted: certificate.isPdFitted,
    pd_rows: certificate.pdRows,
    tool: certificate.tool,
    agrees: certificate.agrees,
    rows: certificate.rows,
    equal: certificate.equal,
    within_rounding: certificate.withinRounding,
    within_tolerance: certificate.withinTolerance,
    differing: certificate.differing,
    differing_by: certificate.differingBy,
    largest_difference: certificate.largestDifference,
    tolerance: certificate.tolerance,
    compared_features: certificate.comparedFeatures,
    largest_pd_difference: certificate.largestPdDifference,
    mean_difference: certificate.meanDifference,
    mean_difference_max: certificate.meanDifferenceMax,
    mean_pd: certificate.meanPd,
    scale: certificate.scale && {
      given: certificate.scale.given,
      fitted: certificate.scale.fitted,
      mean_points: certificate.scale.meanPoints,
    },
    bins: certificate.coverage.bins,
    bins_unreached: certificate.coverage.binsUnreached,
    unreached: certificate.coverage.unreached.map((one) => ({
      feature: one.feature,
      bins: [...one.bins],
      more_bins: one.moreBins,
      edges: [...one.edges],
      more_edges: one.moreEdges,
      outcomes: [...one.outcomes],
    })),
    card_sha256: certificate.cardSha256,
    sample_sha256: certificate.sampleSha256,
    spec_sha256: certificate.specSha256,
  }
}

/** The response of an import, for the service and the command line. */
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
    finding: parity?.finding ?? null,
    differences: parity?.differences.map(differenceFields) ?? [],
    rounded: parity?.rounded.map(roundedFields) ?? [],
  }
}

function roundedFields({ path, id, expectedScore, actualScore, ulps }: RoundedRow) {
  return { path, id, expected_score: expectedScore, actual_score: actualScore, ulps }
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

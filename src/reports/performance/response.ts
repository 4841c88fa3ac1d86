import { findBin } from '../../log/index.ts'
import type { BinPerformance } from './bin-performance.ts'
import type { PerformanceReport } from './report.ts'
import type { ModelPerformance } from './service.ts'
import type { BinOrder, PointsGroup } from './statistics/bin-order.ts'
import type { Calibration } from './statistics/calibration.ts'
import type { Vintage } from './statistics/vintages.ts'

const ASSUMES =
  'the probabilities are calibrated: a change of the relation to outcomes stays unseen'

export type PerformanceFields = ReturnType<typeof performanceFields>

/** A report as the API shows it. */
export function performanceFields(
  definition: string,
  { model, asKnownAtMs, report }: ModelPerformance,
) {
  return {
    definition,
    model_id: model.modelId,
    as_known_at: asKnownAtMs === null ? null : new Date(asKnownAtMs).toISOString(),
    n: report.n,
    good: report.good,
    bad: report.bad,
    coverage: report.coverage,
    auc: report.auc,
    auc_se: report.aucSe,
    auc_low: report.aucLow,
    auc_high: report.aucHigh,
    gini: report.gini,
    gini_low: report.giniLow,
    gini_high: report.giniHigh,
    ks: report.ks,
    ks_score: report.ksScore,
    ks_low: report.ksInterval?.low ?? null,
    ks_high: report.ksInterval?.high ?? null,
    ks_interval: ksIntervalFields(report),
    brier: report.brier,
    spiegelhalter: spiegelhalterFields(report),
    development: developmentFields(report),
    gains: report.gains.map(gainsFields),
    calibration: {
      grades: report.grades.map((one) => ({ grade: one.grade, ...calibrationFields(one) })),
      bands: report.bands.map((one) => ({
        min: one.min,
        max: one.max,
        ...calibrationFields(one),
      })),
      hosmer_lemeshow: hosmerLemeshowFields(report),
    },
    features: report.features.map(({ name, order, bins }, feature) => ({
      name,
      order: orderFields(order),
      bins: bins.map((bin) => binFields(bin, model.card?.spec.features[feature]?.bins ?? [])),
    })),
    paired: report.paired.map(pairedFields),
    verdicts: verdictFields(report),
    expected: {
      method: 'cbpe' as const,
      n: report.expected.n,
      expected_bads: report.expected.expectedBads,
      auc: report.expected.auc,
      assumes: ASSUMES,
    },
  }
}

function pairedFields(one: PerformanceReport['paired'][number]) {
  return {
    challenger_id: one.challengerId,
    model_id: one.modelId,
    n: one.n,
    good: one.good,
    bad: one.bad,
    champion_auc: one.championAuc,
    auc: one.auc,
    auc_difference: one.aucDifference,
    auc_difference_low: one.aucDifferenceLow,
    auc_difference_high: one.aucDifferenceHigh,
    se: one.se,
    z: one.z,
    p_value: one.pValue,
  }
}

function verdictFields({ verdicts, development, auc }: PerformanceReport) {
  const { margin, ranking, power, probabilities, challengers } = verdicts
  return {
    margin,
    ranking,
    power: {
      ...power,
      development_auc: development?.auc ?? null,
      auc,
      p_value: development?.pValue ?? null,
    },
    probabilities: { verdict: probabilities.verdict, grades: [...probabilities.grades] },
    challengers: challengers.map(({ verdict, needed, ...one }) => ({
      verdict,
      needed,
      ...pairedFields(one),
    })),
  }
}

function gainsFields(band: PerformanceReport['gains'][number]) {
  return {
    min_score: band.minScore,
    max_score: band.maxScore,
    count: band.count,
    good: band.good,
    bad: band.bad,
    cum_count: band.cumCount,
    cum_good: band.cumGood,
    cum_bad: band.cumBad,
    share: band.share,
    bad_rate: band.badRate,
    bad_rate_low: band.badRateLow,
    bad_rate_high: band.badRateHigh,
    cum_bad_rate: band.cumBadRate,
    approval_rate: band.approvalRate,
    lift: band.lift,
  }
}

function calibrationFields(one: Calibration) {
  return {
    n: one.n,
    bad: one.bad,
    mean_pd: one.meanPd,
    bad_rate: one.badRate,
    bad_rate_low: one.badRateLow,
    bad_rate_high: one.badRateHigh,
    jeffreys_p: one.jeffreysP,
    binomial_p: one.binomialP,
    z: one.z,
    light: one.light,
  }
}

function hosmerLemeshowFields({ hosmerLemeshow }: PerformanceReport) {
  if (hosmerLemeshow === null) return null
  const { chi2, df, pValue } = hosmerLemeshow
  return { chi2, df, p_value: pValue }
}

function binFields(one: BinPerformance, bins: readonly object[]) {
  return {
    outcome: one.outcome,
    bin: one.bin === null ? null : findBin(bins[one.bin], one.bin),
    points: one.points,
    n: one.n,
    good: one.good,
    bad: one.bad,
    bad_rate: one.badRate,
    bad_rate_low: one.badRateLow,
    bad_rate_high: one.badRateHigh,
    woe: one.woe,
    z: one.z,
  }
}

function orderFields({ spearman, inversions }: BinOrder) {
  const computeRate = ({ points, n, bad }: PointsGroup) => ({ points, n, bad_rate: bad / n })
  return {
    spearman,
    inversions: inversions.map(({ better, worse, pValue }) => ({
      better: computeRate(better),
      worse: computeRate(worse),
      p_value: pValue,
    })),
  }
}

function ksIntervalFields({ ksInterval }: PerformanceReport) {
  if (ksInterval === null) return null
  const { method, replicates, seed } = ksInterval
  return { method, replicates, seed }
}

function spiegelhalterFields({ spiegelhalter }: PerformanceReport) {
  return spiegelhalter && { z: spiegelhalter.z, p_value: spiegelhalter.pValue }
}

function developmentFields({ development }: PerformanceReport) {
  return development && { auc: development.auc, s: development.s, p_value: development.pValue }
}

/** A vintage as the API shows it. */
export function vintageFields({ cohort, n, values, observed, bad, low, high }: Vintage) {
  return {
    cohort,
    n,
    values: [...values],
    observed: [...observed],
    bad: [...bad],
    low: [...low],
    high: [...high],
  }
}

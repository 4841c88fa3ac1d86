import type { Static } from '@sinclair/typebox'
import type { LoggedBin } from '../../../schemas/scores.ts'
import {
  bestPoints,
  type CompiledModel,
  type Counterfactuals,
  compileReasons,
  computeScoreRange,
  type FeatureReasonSpec,
  type FoundReasons,
  findCellSlots,
  findDirection,
  findNextGrade,
  findOtherBins,
  listCounterfactuals,
  type OtherBin,
  type ReasonRules,
  type ScorecardSpec,
  type ScoreTarget,
  type Texts,
  textIn,
} from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import {
  type FeatureOutcome,
  type LoggedResult,
  loggedFeature,
  type ScoreReadingService,
  type StoredCard,
} from '../../log/index.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import {
  findReasonMethod,
  type ReasonBaseline,
  type ReasonMethodAnswer,
} from '../../scoring/reason-baseline.ts'
import { type ReasonAnswer, ReasonTexts } from '../../scoring/reason-texts.ts'

interface ExplanationQuery {
  readonly lang: string
  readonly record?: number | undefined
  readonly cutoff?: number | undefined
}

/** Reasons of a logged score; null where the model had none at the time. */
interface ExplainedReasons {
  /** Points of the baseline for each feature; NaN for one that can't be a reason. */
  readonly means: Float64Array
  readonly found: FoundReasons
  readonly reasons: readonly ReasonAnswer[]
  readonly keyFactors: readonly string[]
  readonly method: ReasonMethodAnswer
}

interface ExplainedFeature {
  readonly name: string
  readonly label: string | null
  readonly source: string | null
  readonly points: number
  /** Points that these are compared with; null for a feature that can't be a reason. */
  readonly baseline_points: number | null
  readonly outcome: FeatureOutcome | null
  readonly bin: BinAnswer | null
  readonly text: string
}

export interface Explanation {
  readonly requestId: string
  readonly recordIndex: number
  readonly modelId: string
  readonly result: LoggedResult
  readonly cutoff: number | null
  readonly reasons: ExplainedReasons | null
  readonly scoreRange: { readonly min: number; readonly max: number }
  readonly features: readonly ExplainedFeature[]
  readonly target: ScoreTarget | null
  /** For a card with more than `LISTED_BINS_MAX` bins with the least change of each feature. */
  readonly counterfactuals: Counterfactuals
  /** For each feature the other bins; null for a card with more than `LISTED_BINS_MAX` bins. */
  readonly sensitivity: readonly (readonly OtherBin[])[] | null
  readonly findBin: (feature: number, bin: number) => BinAnswer
  readonly featureNames: readonly string[]
}

interface ExplanationOptions {
  readonly scores: ScoreReadingService
  readonly baseline: (baselineId: string) => Promise<ReasonBaseline | null>
  /** The present cut-off of a deployment; null without one, and where another model is champion. */
  readonly cutoff: (deploymentId: string, modelId: string) => Promise<number | null>
}

/** More bins than this would make an answer of megabytes, and take a second. */
const LISTED_BINS_MAX = 20_000
const NOTHING_NEEDED: Counterfactuals = { need: 0, single: [], leastSet: null }

/** Explains logged scores. */
export class ExplanationService {
  private readonly options: ExplanationOptions

  constructor(options: ExplanationOptions) {
    this.options = options
  }

  /**
   * Explains what the model that answered said of an applicant: from the logged cells, the stored
   * specification, and the baseline that was in force.
   *
   * @throws AppError `score_not_found`; `invalid_request` for a batch without `record`
   */
  async explain(caller: Caller, requestId: string, query: ExplanationQuery): Promise<Explanation> {
    const { record, lang } = query
    const { request, models, first } = await this.options.scores.get(caller, requestId, {
      record,
      limit: 1,
    })
    if (request.isBatch && record === undefined) {
      throw new AppError('invalid_request', 'record is missing: it names a record of the batch')
    }
    const served = request.models[request.served]
    const result = request.rows[first]?.results[request.served] ?? null
    const card = models.get(served?.modelId ?? '')?.card ?? null
    if (served === undefined || result === null || card === null) {
      throw new AppError('score_not_found', 'the score log has no such score')
    }
    const { spec, model } = card
    const slots = findCellSlots(model, result.cells)
    const { baselineId } = served
    const baseline = baselineId === null ? null : await this.options.baseline(baselineId)
    const present = async () => this.options.cutoff(request.deploymentId, served.modelId)
    const cutoff = query.cutoff ?? (await present()) ?? baseline?.cutoff ?? null
    const target =
      cutoff === null
        ? findNextGrade(spec, model, result.score)
        : { score: cutoff, cutoff, grade: null }
    const rules = compileReasons(spec, model)
    const extension = rules?.spec.features ?? null
    const isActionable = (feature: number) => extension?.[feature]?.actionable !== false
    const bins = spec.features.reduce((sum, feature) => sum + feature.bins.length, 0)
    const isLarge = bins > LISTED_BINS_MAX
    const options = { isActionable, leastOnly: isLarge }
    const counterfactuals =
      target === null
        ? NOTHING_NEEDED
        : listCounterfactuals({ spec, model, slots }, target, options)
    const reasons = explainedReasons(card, slots, { rules, baseline, lang })
    return {
      requestId: request.requestId,
      recordIndex: first,
      modelId: served.modelId,
      result,
      cutoff,
      reasons,
      scoreRange: computeScoreRange(model),
      features: explainedFeatures(card, result, {
        lang,
        extension,
        means: reasons?.means ?? null,
      }),
      target,
      counterfactuals,
      sensitivity: isLarge ? null : await computeSensitivity(card, slots),
      findBin: (feature, bin) => binAnswer(spec, feature, bin, lang),
      featureNames: model.featureNames,
    }
  }
}

/** Declarations of features; null where the extension has no effect. */
type Extension = readonly FeatureReasonSpec[]

interface ReasonContext {
  readonly rules: ReasonRules | null
  readonly baseline: ReasonBaseline | null
  readonly lang: string
}

function explainedReasons(
  { spec, model }: StoredCard,
  slots: Int32Array,
  { rules, baseline, lang }: ReasonContext,
): ExplainedReasons | null {
  const texts = ReasonTexts.of(spec, model, rules, baseline)
  if (texts === null) return null
  const { finder } = texts
  const { found, reasons } = texts.answers(slots, lang)
  return {
    means: finder.means.means,
    found,
    reasons,
    keyFactors: found.keyFactors.map((code) => finder.rules.codes[code] ?? ''),
    method: findReasonMethod(finder, baseline),
  }
}

interface FeatureContext {
  readonly lang: string
  readonly extension: Extension | null
  /** Points of the baseline; null without one. */
  readonly means: Float64Array | null
}

function explainedFeatures(
  card: StoredCard,
  { cells }: LoggedResult,
  { lang, extension, means }: FeatureContext,
): ExplainedFeature[] {
  const { spec, model } = card
  const sign = (spec.scaling?.pdo ?? 1) < 0 ? -1 : 1
  const best = bestPoints(model, sign)
  return model.featureNames.map((name, feature) => {
    const { points, bin, outcome } = loggedFeature(model, feature, cells[feature] ?? 0)
    const words = { feature, bin, outcome, points, best: best[feature] ?? 0, lang }
    return {
      name,
      label: labelIn((spec.features[feature] ?? {}) as { label?: string }, lang),
      source: extension?.[feature]?.source ?? null,
      points,
      baseline_points: baselinePoints(means, feature),
      outcome,
      bin: bin === null ? null : binAnswer(spec, feature, bin, lang),
      text: featureWords(spec, model, words),
    }
  })
}

function baselinePoints(means: Float64Array | null, feature: number): number | null {
  const mean = means?.[feature] ?? Number.NaN
  return Number.isNaN(mean) ? null : mean
}

async function computeSensitivity(
  { spec, model }: StoredCard,
  slots: Int32Array,
): Promise<OtherBin[][]> {
  const turns = new TurnTaker()
  const table: OtherBin[][] = []
  for (const feature of model.features.keys()) {
    table.push(findOtherBins(spec, model, slots, feature))
    await turns.giveWay()
  }
  return table
}

type BinAnswer = Static<typeof LoggedBin>

/** Labels have an effect only on a card that explains its scores, where they are checked. */
interface Labelled {
  readonly label?: Texts
}

function binAnswer(spec: ScorecardSpec, feature: number, index: number, lang: string): BinAnswer {
  const bin: { range?: string; value?: string } & Labelled =
    spec.features[feature]?.bins[index] ?? {}
  const label = labelIn(bin, lang)
  return {
    index,
    ...(bin.range !== undefined && { range: bin.range }),
    ...(bin.value !== undefined && { value: bin.value }),
    ...(label !== null && { label }),
  }
}

/** The label of a feature or bin; null without one, or where it has another form. */
function labelIn({ label }: Labelled, lang: string): string | null {
  const isText = typeof label === 'string'
  const isTexts = typeof label === 'object' && label !== null
  const text: unknown = isText || isTexts ? textIn(label, lang) : null
  return typeof text === 'string' ? text : null
}

const RANGE = /^\s*([[(])\s*([^\s,]+)\s*,\s*([^\s,]+)\s*([\])])\s*$/

/** A range in words: `above 0.9`, `from 25 up to 37`. */
function rangeWords(range: string): string {
  const [, open, low = '', high = '', close] = RANGE.exec(range) ?? []
  if (open === undefined) return range
  const words: string[] = []
  if (!low.endsWith('Infinity')) words.push(`${open === '[' ? 'from' : 'above'} ${low}`)
  if (!high.endsWith('Infinity')) words.push(`${close === ']' ? 'up to' : 'below'} ${high}`)
  return words.length === 0 ? 'any number' : words.join(' ')
}

const OUTCOME_WORDS: Readonly<Record<string, string>> = {
  missing: 'no value',
  unseen_category: 'a category that the card does not know',
  no_bin: 'a number in no range of the card',
  not_a_number: 'a text instead of a number',
}

interface FeatureWords {
  readonly feature: number
  readonly bin: number | null
  readonly outcome: FeatureOutcome | null
  readonly points: number
  /** The best points of the feature. */
  readonly best: number
  readonly lang: string
}

/**
 * Returns what a feature added, as a sentence: `Card utilisation: above 0.9, 4 points of at most
 * 40`.
 */
function featureWords(
  spec: ScorecardSpec,
  { featureNames }: CompiledModel,
  { feature, bin, outcome, points, best, lang }: FeatureWords,
): string {
  const card = spec.features[feature]
  const name = labelIn((card ?? {}) as Labelled, lang) ?? featureNames[feature] ?? ''
  const limit = findDirection(spec) === 1 ? 'of at most' : 'where the best is'
  return `${name}: ${valueWords()}, ${points} points ${limit} ${best}`

  function valueWords(): string {
    if (outcome !== null && outcome !== 'matched') return OUTCOME_WORDS[outcome] ?? outcome
    if (bin === null || card === undefined) return 'in no bin'
    const answer = binAnswer(spec, feature, bin, lang)
    return answer.label ?? answer.value?.split('%,%').join(', ') ?? rangeWords(answer.range ?? '')
  }
}

import {
  type CompiledModel,
  type FeatureRule,
  listRules,
  ModelScore,
  scoreApplicant,
  textIn,
} from '../engine/index.ts'
import type { Steps } from '../platform/steps.ts'
import { runInTurns } from '../platform/turn-taker.ts'
import { listModels } from './model-cache.ts'
import type { ServingDeployment } from './serving.ts'

/** Categories of a feature that are listed as examples, of the many that a card may have. */
const EXAMPLES_MAX = 100
const DRAFT = 'https://json-schema.org/draft/2020-12/schema'

/** Reads the specification of a model; null if there is none. */
export type ReadSpec = (modelId: string) => Promise<{ readonly spec: unknown } | null>

interface Known {
  readonly name: string
  /** The way each model that has the feature treats it, the champion first. */
  readonly rules: FeatureRule[]
  readonly bounds: Set<number>
  label: string | null
}

/** A feature as a specification writes it. */
interface Written {
  readonly label: string | null
  readonly bounds: readonly number[]
}

/**
 * Describes the body of a single score of a deployment as a JSON Schema, in turns of the event
 * loop: eleven of the largest cards take half a second.
 */
export async function applicantSchema(
  deployment: ServingDeployment,
  readSpec: ReadSpec,
): Promise<object> {
  const written: ReadonlyMap<string, Written>[] = []
  for (const { modelId } of listModels(deployment)) {
    written.push(await runInTurns(writtenSteps((await readSpec(modelId))?.spec)))
  }
  return runInTurns(schemaSteps(deployment, written))
}

/** @param written features of each model, the champion first */
function* schemaSteps(
  deployment: ServingDeployment,
  written: readonly ReadonlyMap<string, Written>[],
): Steps<object> {
  const { state, champion } = deployment
  const models = listModels(deployment)
  const features = new Map<string, Known>()
  for (const [position, { modelScore }] of models.entries()) {
    for (const rule of listRules(modelScore.model)) {
      const { name } = rule
      const known = features.get(name) ?? { name, rules: [], bounds: new Set(), label: null }
      const { label = null, bounds = [] } = written[position]?.get(name) ?? {}
      known.rules.push(rule)
      for (const bound of bounds) known.bounds.add(bound)
      known.label ??= label
      features.set(name, known)
      yield
    }
  }
  const answering = state.shadowMode ? [champion] : models
  const required = new Set(answering.flatMap(({ modelScore }) => modelScore.model.featureNames))
  const properties: Record<string, object> = {}
  for (const feature of features.values()) {
    properties[feature.name] = makeProperty(feature, state.strictMode && required.has(feature.name))
    yield
  }
  const example = yield* exampleSteps(
    [...features.values()],
    models.map(({ modelScore }) => modelScore.model),
  )
  const { name, version } = champion.modelScore.model
  return {
    $schema: DRAFT,
    title: name,
    description: `Applicant of the deployment ${state.deploymentId}, whose champion is version ${version}`,
    type: 'object',
    properties: {
      ...properties,
      strict_mode: {
        type: 'boolean',
        description: 'Refuse missing and unknown features; not a feature itself',
      },
    },
    required: [...required],
    ...(state.strictMode && { additionalProperties: false }),
    examples: [example],
  }
}

/** @param isAsked whether a missing value is refused */
function makeProperty({ rules, bounds, label }: Known, isAsked: boolean): object {
  // Strict mode refuses a text where any model takes the feature for a number.
  const isNumeric = rules.some((rule) => rule.isNumeric)
  const types = isNumeric ? ['number'] : ['string', 'number']
  return {
    type: isAsked ? types : [...types, 'null'],
    ...(label !== null && { description: label }),
    examples: isNumeric
      ? [...bounds].sort((one, other) => one - other).slice(0, EXAMPLES_MAX)
      : categories(rules),
  }
}

function categories(rules: readonly FeatureRule[]): string[] {
  const texts = rules.flatMap((rule) => rule.categories.flatMap((category) => category.texts))
  return [...new Set(texts)].slice(0, EXAMPLES_MAX)
}

/**
 * Finds for each feature a value that meets a bin of every model that has it; null where none does.
 * The next candidates of all features make one applicant.
 */
function* exampleSteps(
  features: readonly Known[],
  models: readonly CompiledModel[],
): Steps<Record<string, unknown>> {
  const example: Record<string, unknown> = {}
  let open: { readonly name: string; readonly candidates: readonly unknown[] }[] = []
  for (const { name, rules } of features) {
    example[name] = null
    open.push({ name, candidates: rules.flatMap(listCandidates) })
    yield
  }
  const scores = models.map((model) => new ModelScore(model))
  const isMatched = (name: string) =>
    scores.every((score) => {
      const feature = score.model.featureIndex.get(name)
      return feature === undefined || score.readOutcome(feature) === 'matched'
    })
  for (let round = 0; open.length > 0; round++) {
    open = open.filter(({ candidates }) => round < candidates.length)
    const tried = Object.fromEntries(open.map(({ name, candidates }) => [name, candidates[round]]))
    for (const score of scores) {
      scoreApplicant(tried, score)
      yield
    }
    const found = new Set(Object.keys(tried).filter(isMatched))
    for (const name of found) example[name] = tried[name]
    open = open.filter(({ name }) => !found.has(name))
    yield
  }
  return example
}

function listCandidates({ intervals, categories: texts }: FeatureRule): unknown[] {
  return [
    ...intervals.flatMap(numbersIn),
    ...texts.flatMap((category) => category.texts).flatMap(asValues),
  ]
}

/** Numbers of a range that read well, and its ends. */
function numbersIn({ low, high }: { readonly low: number; readonly high: number }): number[] {
  const middle = low / 2 + high / 2
  const near = Number.isFinite(low) ? low + 1 : high - 1
  return [Math.round(middle), Math.round(near), middle, low, high, 0].filter(Number.isFinite)
}

/** A text, and the number that a model which takes numbers would call the same. */
function asValues(text: string): unknown[] {
  return String(Number(text)) === text ? [text, Number(text)] : [text]
}

/** Reads features by name; a label is in English where it has several languages. */
function* writtenSteps(spec: unknown): Steps<ReadonlyMap<string, Written>> {
  const { features = [] } = (spec ?? {}) as { features?: readonly SpecFeature[] }
  const written = new Map<string, Written>()
  for (const { name, label, bins } of features) {
    const text = isText(label) ? textIn(label, 'en') : null
    written.set(name, { label: text, bounds: bins.flatMap(readBounds) })
    yield
  }
  return written
}

interface SpecFeature {
  readonly name: string
  readonly label?: unknown
  readonly bins: readonly Bin[]
}

/** A bin of a category may have anything as its range. */
interface Bin {
  readonly range?: unknown
}

/** Finite bounds of a range. A model has only the neighbour of an open one. */
function readBounds({ range }: Bin): number[] {
  const texts = typeof range === 'string' ? range.match(/[^\s,()[\]]+/g) : null
  return (texts ?? []).map(Number).filter(Number.isFinite)
}

/** A card without reasons may have anything under this name. */
function isText(label: unknown): label is string | Record<string, string> {
  if (typeof label === 'string') return true
  return (
    typeof label === 'object' &&
    label !== null &&
    Object.values(label).every((text) => typeof text === 'string')
  )
}

import {
  type FeatureRule,
  listRules,
  ModelScore,
  nextDown,
  nextUp,
  scoreApplicant,
  textIn,
} from '../engine/index.ts'
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
  label: string | null
}

/** Describes the body of a single score of a deployment as a JSON Schema. */
export async function applicantSchema(
  deployment: ServingDeployment,
  readSpec: ReadSpec,
): Promise<object> {
  const { state, champion } = deployment
  const models = listModels(deployment)
  const features = new Map<string, Known>()
  for (const { modelId, modelScore } of models) {
    const labels = labelsIn((await readSpec(modelId))?.spec)
    for (const rule of listRules(modelScore.model)) {
      const { name } = rule
      const known = features.get(name) ?? { name, rules: [], label: null }
      known.rules.push(rule)
      known.label ??= labels.get(name) ?? null
      features.set(name, known)
    }
  }
  const answering = state.shadowMode ? [champion] : models
  const required = new Set(answering.flatMap(({ modelScore }) => modelScore.model.featureNames))
  const all = [...features.values()]
  const example = Object.fromEntries(
    all.map((feature) => [feature.name, makeExample(feature, deployment)]),
  )
  const { name, version } = champion.modelScore.model
  return {
    $schema: DRAFT,
    title: name,
    description: `Applicant of the deployment ${state.deploymentId}, whose champion is version ${version}`,
    type: 'object',
    properties: {
      ...Object.fromEntries(
        all.map((feature) => {
          const isAsked = state.strictMode && required.has(feature.name)
          return [feature.name, makeProperty(feature, isAsked)]
        }),
      ),
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
function makeProperty({ rules, label }: Known, isAsked: boolean): object {
  // Strict mode refuses a text where any model takes the feature for a number.
  const isNumeric = rules.some((rule) => rule.isNumeric)
  const types = isNumeric ? ['number'] : ['string', 'number']
  return {
    type: isAsked ? types : [...types, 'null'],
    ...(label !== null && { description: label }),
    examples: isNumeric ? bounds(rules) : categories(rules),
  }
}

/** Finite bounds of the bins, ascending. */
function bounds(rules: readonly FeatureRule[]): number[] {
  const ends = rules.flatMap(({ intervals }) => intervals.flatMap(({ low, high }) => [low, high]))
  const named = new Set(ends.filter(Number.isFinite).map(nameBound))
  return [...named].sort((one, other) => one - other).slice(0, EXAMPLES_MAX)
}

/** The bound as the specification names it: an open one is kept as the neighbouring double. */
function nameBound(end: number): number {
  const near = [end, nextDown(end), nextUp(end)].filter(Number.isFinite)
  const length = Math.min(...near.map((one) => String(one).length))
  return near.find((one) => String(one).length === length) ?? end
}

function categories(rules: readonly FeatureRule[]): string[] {
  const texts = rules.flatMap((rule) => rule.categories.flatMap((category) => category.texts))
  return [...new Set(texts)].slice(0, EXAMPLES_MAX)
}

/** A value that meets a bin of every model that has the feature; null where none does. */
function makeExample({ name, rules }: Known, deployment: ServingDeployment): unknown {
  const candidates = rules.flatMap(({ intervals, categories: texts }): unknown[] => [
    ...intervals.flatMap(numbersIn),
    ...texts.flatMap((category) => category.texts).flatMap(asValues),
  ])
  const scores = listModels(deployment)
    .map(({ modelScore }) => modelScore.model)
    .filter(({ featureIndex }) => featureIndex.has(name))
    .map((model) => new ModelScore(model))
  const isMatched = (value: unknown) =>
    scores.every((score) => {
      scoreApplicant({ [name]: value }, score)
      return score.readOutcome(score.model.featureIndex.get(name) ?? 0) === 'matched'
    })
  return candidates.find(isMatched) ?? null
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

/** Labels of features by name, in English where a label has several languages. */
function labelsIn(spec: unknown): ReadonlyMap<string, string> {
  const { features = [] } = (spec ?? {}) as { features?: { name: string; label?: unknown }[] }
  return new Map(
    features.flatMap(({ name, label }) => {
      const text = isText(label) ? textIn(label, 'en') : null
      return text === null ? [] : [[name, text] as const]
    }),
  )
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

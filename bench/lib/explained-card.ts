interface Declared {
  readonly features: readonly { readonly name: string; readonly bins: readonly object[] }[]
}

const FEATURES_OF_A_CODE = 2
/** In the middle of the points of a feature, so that half of the features are reasons. */
const BASELINE = 3.25

/** The card with reason codes, labels and texts in two languages. */
export function explainedSpec(card: object): object {
  // The cards of the bench have features.
  const { features } = card as Declared
  const readCode = (index: number) => `R${Math.floor(index / FEATURES_OF_A_CODE)}`
  const texts = features.map((_, index) => [
    readCode(index),
    {
      en: `Reason ${readCode(index)} of the benchmark`,
      es: `Motivo ${readCode(index)} de la medida`,
    },
  ])
  return {
    ...card,
    reasons: { version: 1, method: 'fixed', baseline_basis: 'mean' },
    reason_codes: Object.fromEntries(texts),
    features: features.map((feature, index) => ({
      ...feature,
      label: { en: `Feature ${index}`, es: `Variable ${index}` },
      reason_code: readCode(index),
      reason_baseline: BASELINE,
    })),
  }
}

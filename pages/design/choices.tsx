interface ChoicesProps<Value extends string> {
  /** What is chosen: `Sort by`. */
  readonly label: string;
  /** Texts by value. */
  readonly options: Readonly<Record<Value, string>>;
  readonly value: Value;
  readonly onChoose: (value: Value) => void;
}

/** A few choices beside each other, of which one is active. */
export function Choices<Value extends string>({ label, options, value, onChoose }: ChoicesProps<Value>) {
  return (
    <fieldset class="choices" aria-label={label}>
      {(Object.entries(options) as [Value, string][]).map(([each, text]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => onChoose(each)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}

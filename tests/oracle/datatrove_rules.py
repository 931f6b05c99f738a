"""What Danlu calls the reasons for which datatrove's filters drop a document."""

# Our rule for a reason of datatrove's.
RULES = {
    "gopher_short_doc": "words",
    "gopher_long_doc": "words",
    "gopher_below_avg_threshold": "word_length",
    "gopher_above_avg_threshold": "word_length",
    "gopher_too_many_hashes": "symbols",
    "gopher_too_many_ellipsis": "symbols",
    "gopher_too_many_bullets": "bullet_lines",
    "gopher_too_many_end_ellipsis": "ellipsis_lines",
    "gopher_below_alpha_threshold": "alphabetic_words",
    "gopher_enough_stop_words": "stop_words",
    "dup_para_frac": "duplicate_paragraphs",
    "dup_para_char_frac": "duplicate_paragraphs",
    "dup_line_frac": "duplicate_lines",
    "dup_line_char_frac": "duplicate_lines",
    **{f"top_{n}_gram": f"top_{n}_gram" for n in (2, 3, 4)},
    **{f"duplicated_{n}_n_grams": f"duplicate_{n}_grams" for n in range(5, 11)},
    "lorem_ipsum": "lorem_ipsum",
    "curly_bracket": "curly_bracket",
    "too_few_sentences": "sentences",
    "line_punct_ratio": "punctuated_lines",
    "short_line_ratio": "short_lines",
    "char_dup_ratio": "duplicate_lines",
    "list_ratio": "line_breaks",
    None: None,
}

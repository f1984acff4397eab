"""Railroad Dice 2: the dice game of railroad building for two to four, rules `railroad_dice_2/1`."""
